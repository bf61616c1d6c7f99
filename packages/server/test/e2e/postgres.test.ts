import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ONE_SESSION, sendFromFourSessions } from './one-session.js'
import { until } from './real-server.js'
import { send, testFolder, twoOnPostgres, type Page } from './two-on-postgres.js'

/** On a busy machine, a shorter lease can end early, and the run is repeated. */
const LONG_LEASE_MS = 30_000

describe('two processes on one PostgreSQL', { timeout: 60_000 }, () => {
  it('G2: create one message for 100 sends with one key, in one session or in four', async () => {
    const servers = await twoOnPostgres(
      "export default { work: ({ message }) => 're: ' + message }",
      [],
      LONG_LEASE_MS,
    )
    const sends = Array.from({ length: 100 }, (_, n) =>
      send(servers[n % 2 ? 0 : 1], 's', 'once', { 'idempotency-key': 'the-key' }),
    )
    const answers = await Promise.all(
      (await Promise.all(sends)).map(async (response) => [response.status, await response.json()]),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject([200, { status: 'responded', response: 're: once' }])
    const { data } = (await (
      await servers[1].api('GET', '/v1/agents/worker/messages')
    ).json()) as Page
    expect(data).toMatchObject([{ attempt: 1 }])
    expect(await sendFromFourSessions(servers, 'worker')).toEqual(ONE_SESSION)
  })

  it('answer a caller of one process with the run of the other', async () => {
    const [one, other] = await twoOnPostgres(
      'export default { work: () => String(process.pid) }',
      ['--no-worker'],
      LONG_LEASE_MS,
    )
    const [here, there] = await Promise.all(
      [send(one, 'a', 'hi'), send(other, 'b', 'hi')].map(async (sent) => (await sent).json()),
    )
    expect(there).toMatchObject({
      status: 'responded',
      response: (here as { response: string }).response,
    })
  })

  it('G5: run the messages of a session one at a time and in order', async () => {
    const log = path.join(await testFolder(), 'order.log')
    const agents = `
      import { appendFileSync } from 'node:fs'
      export default { work: async ({ message }) => {
        appendFileSync(${JSON.stringify(log)}, 'begin ' + message + '\\n')
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
        appendFileSync(${JSON.stringify(log)}, 'end ' + message + '\\n')
        return String(process.pid)
      } }`
    const servers = await twoOnPostgres(agents, [], LONG_LEASE_MS)
    const sends = Array.from({ length: 40 }, (_, n) =>
      send(servers[n % 2 ? 0 : 1], 'one session', `${n}`),
    )
    for (const { status } of await Promise.all(sends)) expect(status).toBe(200)
    const listed = await servers[0].api(
      'GET',
      '/v1/agents/worker/messages?sessionId=one%20session&order=asc&limit=100',
    )
    const inOrder = ((await listed.json()) as Page).data.map(({ message }) => message)
    expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual(
      inOrder.flatMap((message) => [`begin ${message}`, `end ${message}`]),
    )
  })

  it('G5: do not repeat a run that blocks the event loop for two leases', async () => {
    const log = path.join(await testFolder(), 'blocked.log')
    const leaseMs = 5_000 // a busy machine can hold up the thread that keeps leases by seconds
    const agents = `
      import { appendFileSync } from 'node:fs'
      export default { work: ({ message }) => {
        if (message !== 'block') return 'the thread that keeps leases has started'
        appendFileSync(${JSON.stringify(log)}, 'begun\\n')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${2 * leaseMs})
        return 'done'
      } }`
    const [one, other] = await twoOnPostgres(agents, [], leaseMs)
    for (const server of [one, other]) await send(server, 's', 'hi')
    void send(one, 'blocked', 'block').catch(() => undefined)
    const list = async () =>
      (await (
        await other.api('GET', '/v1/agents/worker/messages?sessionId=blocked')
      ).json()) as Page
    expect(await until(async () => (await list()).data[0]?.status === 'responded')).toBe(true)
    expect((await list()).data).toMatchObject([{ attempt: 1, response: 'done' }])
    expect(readFileSync(log, 'utf8')).toBe('begun\n')
  })
})
