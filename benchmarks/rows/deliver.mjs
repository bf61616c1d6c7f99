import { child } from './child.mjs'

const DELIVERIES = 20_000

/** A backlog drained over real sockets: claimed, signed, sent and recorded; 64 in flight. */
export const deliver = {
  title: `deliver: a backlog of ${DELIVERIES} to 10 webhooks of one receiver, 64 in flight`,
  contenders: [
    { name: 'floor: HMAC and undici, no store', measure: () => measure('deliver-floor') },
    { name: 'ours: SQLite, FULL', measure: () => measure('deliver-ours') },
  ],
}

async function measure(program) {
  const receiver = await child('receiver')
  const sender = await child(program, receiver.ready.url, String(DELIVERIES))
  try {
    const { seconds, cpuMicros } = await sender.ask('drain')
    const { received } = await receiver.ask('count')
    if (received !== DELIVERIES) console.error(`${program}: the receiver got ${received} of ${DELIVERIES}`)
    return { perSecond: DELIVERIES / seconds, cpuMicros: cpuMicros / DELIVERIES }
  } finally {
    await Promise.all([sender.end(), receiver.end()])
  }
}
