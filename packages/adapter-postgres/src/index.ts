export { openPostgresStorage, type PostgresOptions } from './open.js'
export { PostgresOpenError } from './open-error.js'
