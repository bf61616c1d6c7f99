// Backs up a database and restores the copy. Then backs it up to a name that is taken, and prints
// the error.
import { backupSqlite, restoreSqlite } from '@org/agent-messaging-adapter-sqlite'

const [path, copy, taken] = process.argv.slice(2)
await backupSqlite({ path, to: copy })
await restoreSqlite({ from: copy, path, suffix: '.old' })
await backupSqlite({ path, to: taken }).catch(({ message }) => process.stdout.write(message))
