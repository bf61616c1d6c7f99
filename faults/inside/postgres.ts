import type { Storage } from '@org/agent-messaging-core'
import { openPostgresStorage as open, type PostgresOptions } from '@org/agent-messaging-postgres'
import { watched } from './watched.js'

export { PostgresOpenError, postgresPacemaker, postgresSignal, readPostgresSchema } from '@org/agent-messaging-postgres'
export const openPostgresStorage = async (options: PostgresOptions): Promise<Storage> => watched(await open(options))
