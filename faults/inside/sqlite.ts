import { openSqliteStorage as open, type SqliteOptions, type SqliteStorage } from '@org/agent-messaging-sqlite'
import { watched } from './watched.js'

export {
  backupSqlite,
  findSqliteDamage,
  readSqliteSchema,
  restoreSqlite,
  SqliteOpenError,
  sqlitePacemaker,
} from '@org/agent-messaging-sqlite'
export const openSqliteStorage = (options: SqliteOptions): SqliteStorage => watched(open(options))
