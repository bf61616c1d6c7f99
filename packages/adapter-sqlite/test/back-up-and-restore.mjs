// Backs a database up and puts the copy in its place, then backs it up to a name that is taken; says what came of the last.
import { backupSqlite, restoreSqlite } from '@org/agent-messaging-sqlite'

const [path, copy, taken] = process.argv.slice(2)
await backupSqlite({ path, to: copy })
await restoreSqlite({ from: copy, path, suffix: '.old' })
await backupSqlite({ path, to: taken }).catch(({ message }) => process.stdout.write(message))
