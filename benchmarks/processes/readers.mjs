// Readers of streams. `read` sends a message and reads its stream, again and again, on each of the
// connections. `enter` opens streams and leaves them open.
import { Agent, request } from 'undici'
import { answer } from './answer.mjs'

const CONCURRENCY = 50
const dispatcher = new Agent({ bodyTimeout: 0, pipelining: 1 })
const EVENT = Buffer.from('event: part\n')
let sessions = 0

async function openStream({ url, headers }) {
  const body = JSON.stringify({ sessionId: `${process.pid}-${sessions++}`, message: 'Hello' })
  const sent = await request(url, {
    method: 'POST',
    dispatcher,
    headers: { ...headers, 'content-type': 'application/json', prefer: 'respond-async' },
    body,
  })
  await sent.body.dump()
  if (sent.statusCode !== 202) throw new Error(`a send was answered with ${sent.statusCode}`)
  const stream = new URL(`${String(sent.headers.location)}/stream`, url)
  const { body: events, statusCode } = await request(stream, { dispatcher, headers })
  if (statusCode !== 200) throw new Error(`a stream was answered with ${statusCode}`)
  return events
}

/** An event's first line can be split over two reads. */
async function countParts(events) {
  let parts = 0
  let rest = Buffer.alloc(0)
  for await (const bytes of events) {
    const text = Buffer.concat([rest, bytes])
    for (let at = text.indexOf(EVENT); at >= 0; at = text.indexOf(EVENT, at + EVENT.length)) parts++
    rest = text.subarray(Math.max(0, text.length - EVENT.length + 1))
  }
  return parts
}

async function read({ seconds, connections, ...server }) {
  const startedAt = performance.now()
  let [parts, streams] = [0, 0]
  const reader = async () => {
    while (performance.now() - startedAt < seconds * 1_000) {
      const received = await countParts(await openStream(server))
      parts += received
      streams++
    }
  }
  await Promise.all(Array.from({ length: connections }, reader))
  return { parts, streams, seconds: (performance.now() - startedAt) / 1_000 }
}

/** Resolves when each stream has sent something. */
async function enter({ waiting, ...server }) {
  for (let n = 0; n < waiting; n += CONCURRENCY) {
    await Promise.all(
      Array.from({ length: Math.min(CONCURRENCY, waiting - n) }, async () => {
        const events = await openStream(server)
        await new Promise((resolve) => events.on('data', resolve))
      }),
    )
  }
}
answer({}, { read, enter })
