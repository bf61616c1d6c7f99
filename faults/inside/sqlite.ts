import {
  openSqliteStorage as open,
  type SqliteOptions,
  type SqliteStorage,
} from '@org/agent-messaging-adapter-sqlite'
import { withKillPoints } from './with-kill-points.js'

export * from '@org/agent-messaging-adapter-sqlite'
export const openSqliteStorage = (options: SqliteOptions): SqliteStorage =>
  withKillPoints(open(options))
