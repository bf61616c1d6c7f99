export { openPostgresStorage, type PostgresOptions } from './open.js'
export { PostgresOpenError } from './database/open-error.js'
export { inTransaction } from './messages/transaction.js'
export {
  postgresSignal,
  type PostgresSignal,
  type PostgresSignalOptions,
} from './database/signal.js'
export {
  postgresLeaseKeeper,
  type PostgresLeaseKeeper,
  type PostgresLeaseKeeperOptions,
} from './lease-keeper.js'
export { readPostgresSchema, type PostgresSchema } from './schema/migrate.js'
export { fillPostgres, type FillOptions, type FillTable } from './maintenance/fill.js'
