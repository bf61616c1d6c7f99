export { backupSqlite, type BackupOptions } from './backup.js'
export {
  sqliteChunkRelay,
  type SqliteChunkRelay,
  type SqliteChunkRelayOptions,
} from './chunk-relay.js'
export { findSqliteDamage } from './damage.js'
export { SqliteOpenError } from './errors.js'
export {
  sqliteLeaseKeeper,
  type SqliteLeaseKeeper,
  type SqliteLeaseKeeperOptions,
} from './lease-keeper.js'
export { openSqliteStorage, type SqliteOptions, type SqliteStorage } from './open.js'
export { restoreSqlite, type RestoreOptions, type Restored } from './restore.js'
export { readSqliteSchema, type SqliteSchema } from './schema.js'
export { readSqliteTables, type SqliteTable, type TablesOptions } from './tables.js'
