// A process that is killed in the middle of its second migration. It takes the built files: migrating is nobody's from outside.
import { openConnection } from '../dist/connection.js'
import { migrate } from '../dist/migrate.js'

const db = openConnection(process.argv[2], 1_000)
db.function('die', () => process.kill(process.pid, 'SIGKILL'))
migrate(db, [
  'create table first (x)',
  'create table second (x); insert into second values (1); select die(); create table third (x)',
])
