import type { Storage } from '@org/agent-messaging-core/storage'
import { openPostgresStorage as open, type PostgresOptions } from '@org/agent-messaging-postgres'
import { watched } from './watched.js'

export * from '@org/agent-messaging-postgres' // but for what is exported here
export const openPostgresStorage = async (options: PostgresOptions): Promise<Storage> =>
  watched(await open(options))
