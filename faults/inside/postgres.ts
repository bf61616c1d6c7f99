import type { Storage } from '@org/agent-messaging-core/storage'
import {
  openPostgresStorage as open,
  type PostgresOptions,
} from '@org/agent-messaging-adapter-postgres'
import { withKillPoints } from './with-kill-points.js'

export * from '@org/agent-messaging-adapter-postgres'
export const openPostgresStorage = async (options: PostgresOptions): Promise<Storage> =>
  withKillPoints(await open(options))
