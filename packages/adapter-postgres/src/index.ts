export { openPostgresStorage, type PostgresOptions } from './open.js'
export { PostgresOpenError } from './open-error.js'
export { postgresSignal, type PostgresSignal, type PostgresSignalOptions } from './signal.js'
export { postgresPacemaker, type PostgresPacemaker, type PostgresPacemakerOptions } from './pacemaker.js'
