import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { linesOf } from './lines-of.js'
import { realServer, until, type RealServer } from './real-server.js'

/** A busy machine can hold up the thread that keeps leases by seconds. */
const LEASE_MS = 4_000
/** Each run appends a line to the file that its message names. */
const AGENTS = `
import { appendFileSync } from 'node:fs'
const note = ({ message, attempt }) => appendFileSync(message, process.pid + ' ' + attempt + '\\n')
export default {
  who: () => String(process.pid),
  block: (request) => {
    note(request)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${2 * LEASE_MS})
    return 'done'
  },
  dieFirst: (request) => {
    note(request)
    return request.attempt === 1 ? new Promise(() => {}) : 'done'
  },
}`

let one: RealServer
let other: RealServer

beforeAll(async () => {
  const options = { agents: AGENTS, env: { SERVICE_RUN_LEASE_MS: `${LEASE_MS}` } }
  one = await realServer(options)
  other = await realServer({ ...options, beside: one })
  for (const handler of ['who', 'block', 'dieFirst']) {
    const agent = {
      name: handler.toLowerCase(),
      runtime: { kind: 'function', handler },
      desiredState: 'running',
    }
    expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
  }
  const who = async (server: RealServer) =>
    (await (await send(server, 'who', 'x')).json()) as { response: string }
  const { response: pid } = await who(one)
  // The agents start in the order of creation. The others can still be starting.
  expect(await until(async () => (await who(other)).response !== pid)).toBe(true)
})
afterAll(async () => {
  await other.dispose()
  await one.dispose()
})

const send = (server: RealServer, agent: string, message: string) =>
  server.api('POST', `/v1/agents/${agent}/messages`, { sessionId: `${Math.random()}`, message })

/** Sends to `one` and reads the message through the other process. */
async function begun(
  agent: string,
): Promise<{ file: string; seen: () => Promise<Record<string, unknown>> }> {
  const file = path.join(one.folder, `${agent}-runs`)
  void send(one, agent, file).catch(() => undefined)
  expect(await until(() => linesOf(file).length === 1)).toBe(true)
  const list = async () =>
    (await (await other.api('GET', `/v1/agents/${agent}/messages`)).json()) as {
      data: Record<string, unknown>[]
    }
  return { file, seen: async () => (await list()).data[0] ?? {} }
}

it('a run that blocks the event loop for two leases is not repeated', async () => {
  const { file, seen } = await begun('block')
  expect(await until(async () => (await seen())['state'] !== 'running')).toBe(true)
  expect(await seen()).toMatchObject({ state: 'responded', attempt: 1 })
  expect(linesOf(file)).toHaveLength(1)
})

it('another process repeats the run of a killed process', async () => {
  const { file, seen } = await begun('diefirst')
  await one.kill('SIGKILL')
  expect(await until(async () => (await seen())['state'] === 'responded')).toBe(true)
  expect(await seen()).toMatchObject({ attempt: 2, response: 'done' })
  const [first, second] = linesOf(file)
  expect(first?.split(' ')[0]).not.toBe(second?.split(' ')[0])
})
