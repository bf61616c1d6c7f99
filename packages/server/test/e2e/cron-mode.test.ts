import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { CRON_SECRET, realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

// `start --no-worker`, as on a serverless host: only calls of the cron route do background work.

type Pass = Record<
  'messages' | 'deliveries' | 'cancelled' | 'purgedDeliveries' | 'purgedMessages',
  number
>
// oxlint-disable-next-line typescript/no-explicit-any -- the expectations check the fields that tests read
type Json = any

/** A busy machine can hold up the thread that keeps leases by seconds. */
const RUN_LEASE_MS = 4_000
/** Answers, except in a process with the variable HANG. */
const AGENTS = `export default { worker: ({ message }) => process.env.HANG ? new Promise(() => setInterval(() => {}, 1_000)) : 're: ' + message }`

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agents-'))
  await writeFile(path.join(folder, 'agents.mjs'), AGENTS)
})
afterAll(() => rm(folder, { recursive: true }))

async function cronServer(
  env: Record<string, string> = {},
  beside?: RealServer,
): Promise<RealServer> {
  const args = ['--no-worker', '--agents', path.join(folder, 'agents.mjs')]
  const fast = {
    SERVICE_RUN_LEASE_MS: String(RUN_LEASE_MS),
    SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s',
  }
  const server = await realServer({ args, env: { ...fast, ...env }, ...(beside && { beside }) })
  onTestFinished(() => server.dispose())
  return server
}

async function cron(server: RealServer): Promise<Pass> {
  const answer = await server.api('POST', '/api/cron/webhooks', undefined, {
    authorization: `Bearer ${CRON_SECRET}`,
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Pass
}

async function ask(
  server: RealServer,
  method: string,
  route: string,
  body?: unknown,
  headers = {},
): Promise<Json> {
  const answer = await server.api(method, route, body, headers)
  return { code: answer.status, ...((await answer.json()) as object) }
}

/** Creates an agent, starts it with a first pass, and registers a receiver for its answers. */
async function agentAndHook(server: RealServer, answer?: (n: number) => number) {
  const hook = await receiver(answer)
  onTestFinished(() => hook.close())
  await ask(server, 'POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
  const agent = {
    name: 'worker',
    runtime: { kind: 'function', handler: 'worker' },
    desiredState: 'running',
    concurrency: 50,
  }
  expect((await ask(server, 'POST', '/v1/agents', agent)).code).toBe(201)
  await cron(server)
  return hook
}

const send = (
  server: RealServer,
  sessionId = 's',
  headers: Record<string, string> = { prefer: 'respond-async' },
) => ask(server, 'POST', '/v1/agents/worker/messages', { sessionId, message: 'hello' }, headers)
const stateOf = async (server: RealServer, messageId: string) =>
  (await ask(server, 'GET', `/v1/agents/worker/messages/${messageId}`)).state

it('the next pass runs a queued message and delivers its answer', async () => {
  const server = await cronServer()
  const hook = await agentAndHook(server)
  const sent = await send(server, 's', { prefer: 'wait=1' })
  expect(sent).toMatchObject({ code: 202, status: 'pending' })
  expect(await stateOf(server, sent.messageId)).toBe('queued')
  expect(await cron(server)).toMatchObject({ messages: 1, deliveries: 1 })
  expect(hook.received.map(({ body }) => JSON.parse(body).data.response)).toEqual(['re: hello'])
  expect(await cron(server)).toMatchObject({ messages: 0, deliveries: 0 })
})

it('a caller that waits during a pass gets 200', async () => {
  const server = await cronServer()
  await agentAndHook(server)
  const sending = send(server, 's', {})
  expect(await until(async () => (await cron(server)).messages === 1)).toBe(true)
  expect(await sending).toMatchObject({ code: 200, status: 'responded', response: 're: hello' })
})

it('a pass repeats a failed delivery once it is due', async () => {
  const server = await cronServer({ SERVICE_WEBHOOK_RETRY_SCHEDULE: '4s' })
  const hook = await agentAndHook(server, (n) => (n === 0 ? 500 : 200))
  await send(server)
  expect(await cron(server)).toMatchObject({ messages: 1, deliveries: 1 })
  expect((await cron(server)).deliveries).toBe(0)
  expect(await until(async () => (await cron(server)).deliveries === 1)).toBe(true)
  expect(hook.received.map(({ status }) => status)).toEqual([500, 200])
})

it('a run that outlives its pass keeps its lease until its process is killed', async () => {
  const healthy = await cronServer()
  await agentAndHook(healthy)
  const hanging = await cronServer({ HANG: '1', SERVICE_CRON_BUDGET_MS: '2000' }, healthy)
  const { messageId } = await send(hanging)
  expect((await cron(hanging)).messages).toBe(1)
  // The pass is over and the run continues. No other process gets the message while this one lives.
  const end = Date.now() + 2 * RUN_LEASE_MS
  await until(async () => {
    expect((await cron(healthy)).messages).toBe(0)
    return Date.now() > end
  })
  await hanging.kill('SIGKILL')
  expect(await until(async () => (await cron(healthy)).messages === 1)).toBe(true)
  expect(await ask(healthy, 'GET', `/v1/agents/worker/messages/${messageId}`)).toMatchObject({
    state: 'responded',
    attempt: 2,
  })
})

it('20 concurrent calls in two processes delete each finished row once and no open row', async () => {
  const env = {
    SERVICE_DELIVERY_RETENTION: '1s',
    SERVICE_MESSAGE_RETENTION: '1s',
    SERVICE_WEBHOOK_RETRY_SCHEDULE: '1h',
  }
  const one = await cronServer(env)
  const other = await cronServer(env, one)
  const hook = await agentAndHook(one)
  const down = await receiver(() => 500)
  onTestFinished(() => down.close())
  await ask(one, 'POST', '/v1/webhooks', { url: down.url, events: ['message.responded'] })
  for (let n = 0; n < 30; n++) await send(one, `${n}`)

  const total: Pass = {
    messages: 0,
    deliveries: 0,
    cancelled: 0,
    purgedDeliveries: 0,
    purgedMessages: 0,
  }
  const isPurged = async () => {
    const passes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => cron(n % 2 ? one : other)),
    )
    for (const pass of passes)
      for (const count of Object.keys(total) as (keyof Pass)[]) total[count] += pass[count]
    return total.purgedDeliveries >= 30 && total.purgedMessages >= 30
  }
  expect(await until(isPurged)).toBe(true)
  await isPurged()
  expect(total).toMatchObject({
    messages: 30,
    purgedDeliveries: 30,
    purgedMessages: 30,
    cancelled: 0,
  })
  expect(new Set(hook.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(30)
  expect(hook.received).toHaveLength(30)
  expect((await ask(one, 'GET', '/v1/agents/worker/messages')).data).toEqual([])
  const left = (await ask(one, 'GET', '/v1/deliveries?limit=100')).data as { status: string }[]
  expect(left).toHaveLength(30)
  expect(new Set(left.map(({ status }) => status))).toEqual(new Set(['pending']))
})
