export { openPostgresStorage, type PostgresOptions } from './open.js'
export { PostgresOpenError } from './open-error.js'
export { postgresSignal, type PostgresSignal, type PostgresSignalOptions } from './signal.js'
