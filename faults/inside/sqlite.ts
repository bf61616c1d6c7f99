import {
  openSqliteStorage as open,
  type SqliteOptions,
  type SqliteStorage,
} from '@org/agent-messaging-sqlite'
import { watched } from './watched.js'

export * from '@org/agent-messaging-sqlite' // but for what is exported here
export const openSqliteStorage = (options: SqliteOptions): SqliteStorage => watched(open(options))
