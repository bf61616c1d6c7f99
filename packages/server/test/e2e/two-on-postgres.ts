import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, type RealServer } from './real-server.js'

const SHORT_LEASES = {
  SERVICE_DELIVERY_TIMEOUT_MS: '500',
  SERVICE_DELIVERY_LEASE_MS: '1000',
}
export type Page = {
  readonly data: readonly {
    readonly message: string
    readonly status: string
    readonly attempt: number
  }[]
}

/** Starts two processes on one new database, with the agent `worker` from `agents`. */
export async function twoOnPostgres(
  agents: string,
  argsOfOther: readonly string[] = [],
  runLeaseMs = 1_000,
): Promise<[RealServer, RealServer]> {
  const postgres = await testPostgres()
  onTestFinished(() => postgres.close())
  const env = {
    ...SHORT_LEASES,
    SERVICE_RUN_LEASE_MS: `${runLeaseMs}`,
    SERVICE_DATABASE_URL: await postgres.database(),
  }
  const one = await realServer({ env, agents })
  onTestFinished(one.dispose)
  const other = await realServer({ env, agents, args: argsOfOther })
  onTestFinished(other.dispose)
  const agent = {
    name: 'worker',
    runtime: { kind: 'function', handler: 'work' },
    desiredState: 'running',
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
  return [one, other]
}

/** A folder until the end of the test. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-agents-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

export const send = (
  server: RealServer,
  sessionId: string,
  message: string,
  headers = {},
): Promise<Response> =>
  server.api('POST', '/v1/agents/worker/messages', { sessionId, message }, headers)
