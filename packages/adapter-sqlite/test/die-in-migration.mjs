// A process that is killed during its second migration. The program imports built files that the
// package does not export.
import { openConnection } from '../dist/database/connection.js'
import { migrate } from '../dist/schema/migrate.js'

const db = openConnection(process.argv[2], 1_000)
db.function('die', () => process.kill(process.pid, 'SIGKILL'))
migrate(db, [
  'create table first (x)',
  'create table second (x); insert into second values (1); select die(); create table third (x)',
])
