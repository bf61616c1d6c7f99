export { openPostgresStorage, type PostgresOptions } from './open.js'
export { PostgresOpenError } from './open-error.js'
export { inTransaction } from './transaction.js'
export { postgresSignal, type PostgresSignal, type PostgresSignalOptions } from './signal.js'
export {
  postgresLeaseKeeper,
  type PostgresLeaseKeeper,
  type PostgresLeaseKeeperOptions,
} from './lease-keeper.js'
export { readPostgresSchema, type PostgresSchema } from './schema-state.js'
export { fillPostgres, type FillOptions, type FillTable } from './fill.js'
