export { backupSqlite, type BackupOptions } from './maintenance/backup.js'
export {
  sqliteChunkRelay,
  type SqliteChunkRelay,
  type SqliteChunkRelayOptions,
} from './database/chunk-relay.js'
export { findSqliteDamage } from './maintenance/damage.js'
export { SqliteOpenError } from './database/errors.js'
export {
  sqliteLeaseKeeper,
  type SqliteLeaseKeeper,
  type SqliteLeaseKeeperOptions,
} from './lease-keeper.js'
export { openSqliteStorage, type SqliteOptions, type SqliteStorage } from './open.js'
export { restoreSqlite, type RestoreOptions, type Restored } from './maintenance/restore.js'
export { readSqliteSchema, type SqliteSchema } from './schema/schema-state.js'
export { readSqliteTables, type SqliteTable, type TablesOptions } from './maintenance/tables.js'
