import { child } from './child.mjs'

const SECONDS = 5
const CONNECTIONS = 50

/** Send → 200, whole: API key, idempotency key, one webhook subscribed and delivered meanwhile, every commit fsynced. */
export const send = {
  title: `send → 200: instant agent, ${CONNECTIONS} connections, ${SECONDS} s a round`,
  contenders: [
    { name: 'floor: Hono, zod, JSON, no store', measure: () => measure('send-floor') },
    { name: 'ours: SQLite, FULL', measure: () => measure('send-ours') },
  ],
}

async function measure(program) {
  const receiver = await child('receiver')
  const server = await child(program, receiver.ready.url)
  const load = await child('load')
  try {
    await load.ask({ ...server.ready, seconds: 1, connections: CONNECTIONS }) // warm
    const before = await server.ask('cpu')
    const result = await load.ask({ ...server.ready, seconds: SECONDS, connections: CONNECTIONS })
    const after = await server.ask('cpu')
    if (result.failed > 0) console.error(`${program}: ${result.failed} of ${result.requests} requests failed`)
    return {
      perSecond: result.requests / result.seconds,
      p50: result.p50,
      p99: result.p99,
      cpuMicros: (after.cpuMicros - before.cpuMicros) / result.requests,
      'RSS MiB': Math.round(after.rss / 2 ** 20),
    }
  } finally {
    await Promise.all([load.end(), server.end(), receiver.end()])
  }
}
