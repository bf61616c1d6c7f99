import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'

/** Yields a second word once the file exists that the message names. */
const AGENTS = `
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
export default {
  poet: async function* ({ message, signal }) {
    yield 'roses '
    while (!existsSync(message)) await delay(20, undefined, { signal })
    yield 'violets'
  },
}`

let one: RealServer
/** Runs no agents, so the chunks of its streams come from the other process. */
let other: RealServer

beforeAll(async () => {
  one = await realServer({ agents: AGENTS })
  other = await realServer({ agents: AGENTS, args: ['--no-worker'], beside: one })
  const agent = {
    name: 'poet',
    runtime: { kind: 'function', handler: 'poet' },
    desiredState: 'running',
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
})
afterAll(async () => {
  await other.dispose()
  await one.dispose()
})

/** Sends a message that runs until `finish`. */
async function begun(name: string) {
  const file = path.join(one.folder, name)
  const sent = await one.api(
    'POST',
    '/v1/agents/poet/messages',
    { sessionId: name, message: file },
    { prefer: 'respond-async' },
  )
  const { messageId } = (await sent.json()) as { messageId: string }
  const route = `/v1/agents/poet/messages/${messageId}`
  const stream = (server: RealServer, lastEventId = '') =>
    server.api('GET', `${route}/stream`, undefined, { 'last-event-id': lastEventId })
  return { route, stream, finish: () => writeFileSync(file, '') }
}

/** Yields a short form of each event. A slow machine also gets heartbeats, which are comments. */
async function* eventsOf(response: Response): AsyncGenerator<string> {
  let text = ''
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(bytes).toString()
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks.filter((one) => !one.startsWith(':'))) {
      const { event, id, data } = Object.fromEntries(
        block.split('\n').map((line) => line.split(/: (.*)/s)),
      ) as Record<string, string>
      const body = JSON.parse(data ?? '{}') as Record<string, string>
      yield `${id} ${event} ${body['text'] ?? body['response'] ?? body['state']}`
    }
  }
}

async function all(events: AsyncGenerator<string>): Promise<string[]> {
  const seen = []
  for await (const event of events) seen.push(event)
  return seen
}

it('a stream has chunks during the run, and a client that reconnects misses none', async () => {
  const { route, stream, finish } = await begun('reconnect')
  const first = eventsOf(await stream(one))
  expect((await first.next()).value).toBe('1.0 state running')
  expect((await first.next()).value).toBe('1.6 chunk roses ')
  await first.return(undefined) // disconnects
  const again = all(eventsOf(await stream(one, '1.6')))
  finish()
  expect(await again).toEqual([
    '1.6 state running',
    '1.13 chunk violets',
    '1.responded message roses violets',
  ])
  expect((await stream(one, '1.responded')).status).toBe(204)
  expect(await (await one.api('GET', route)).json()).toMatchObject({
    state: 'responded',
    attempt: 1,
  })
})

it('a process that does not run the message streams its chunks too', async () => {
  const { stream, finish } = await begun('elsewhere')
  const events = eventsOf(await stream(other))
  expect((await events.next()).value).toBe('1.0 state running')
  expect((await events.next()).value).toBe('1.6 chunk roses ')
  finish()
  expect(await all(events)).toEqual(['1.13 chunk violets', '1.responded message roses violets'])
})

it('a stop ends streams properly, and another process continues them', async () => {
  const { stream, finish, route } = await begun('stop')
  const events = eventsOf(await stream(one))
  await events.next()
  await events.next()
  const exit = one.kill('SIGTERM')
  expect(await all(events)).toEqual([]) // a broken connection would reject
  const seen = all(eventsOf(await stream(other, '1.6')))
  finish()
  // The last pieces of a stopping process can get lost. The final message has the whole answer.
  expect((await seen).filter((event) => event !== '1.13 chunk violets')).toEqual([
    '1.6 state running',
    '1.responded message roses violets',
  ])
  expect(await exit).toBe(0)
  expect(
    await until(
      async () =>
        ((await (await other.api('GET', route)).json()) as { state: string }).state === 'responded',
    ),
  ).toBe(true)
})
