import { inEnvironment } from '../environment.mjs'
import { count, rate, usageBetween } from './figures.mjs'
import { refuseFailures } from './send.mjs'

/** A lone project gets three quarters of the 64 slots. */
const SLOTS = 48
/** The receiver answers after this time, to as many requests as come. */
const LATENCY_MS = 25
const LONE_LATENCY_MS = 50
const BUCKET_PER_SECOND = 100

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1_000 * seconds))

/** Measures accepted deliveries of a receiver that refuses some by chance. */
const byChance = (words, refusing) => ({
  ...rate,
  measures: () =>
    `deliveries of one webhook, ${words}, receiver: ${LATENCY_MS} ms, slots: ${SLOTS} of 64`,
  must: '0.50 of the floor',
  aims: '0.80',
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'no refusals',
      measure: () => drainTo(sizes, { latencyMs: LATENCY_MS }),
    },
    {
      role: 'ours',
      name: 'SQLite',
      measure: () => drainTo(sizes, { latencyMs: LATENCY_MS, ...refusing }),
    },
  ],
})

export const refused503 = byChance('10 % random 503', { status: 503, share: 0.1 })
export const refused429 = byChance('1 % random 429', { status: 429, share: 0.01 })
export const failed500 = byChance('10 % random 500', { status: 500, share: 0.1 })

export const loneReceiver = {
  ...rate,
  measures: () =>
    `deliveries of one webhook, receiver: ${LONE_LATENCY_MS} ms, slots: ${SLOTS} of 64`,
  must: '0.80 of the floor',
  aims: '0.95',
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'slots over latency',
      measure: async () => ({ perSecond: (SLOTS * 1_000) / LONE_LATENCY_MS }),
    },
    {
      role: 'ours',
      name: 'SQLite',
      measure: () => drainTo(sizes, { latencyMs: LONE_LATENCY_MS }),
    },
  ],
}

export const tokenBucket = {
  ...rate,
  figure: ({ perSecond, share }) => `${count(perSecond)}/s, ${(100 * share).toFixed(1)} % refused`,
  ratio: ({ ours, floor }) =>
    `${(ours.perSecond / floor.perSecond).toFixed(2)}, ${(100 * ours.share).toFixed(1)} % refused`,
  measures: () =>
    `deliveries of one webhook, receiver: 1 ms, ${BUCKET_PER_SECOND}/s with bursts of 100, then 429`,
  must: '0.90, at most 5 % refused',
  aims: '0.98, 2 %',
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'the bucket',
      measure: async () => ({ perSecond: BUCKET_PER_SECOND, share: 0 }),
    },
    {
      role: 'ours',
      name: 'SQLite',
      measure: () =>
        drainTo(
          { ...sizes, seconds: 4 * sizes.seconds },
          { latencyMs: 1, perSecond: BUCKET_PER_SECOND },
        ),
    },
  ],
}

/** Measures if deliveries keep up with sends. The floor is the rate of the sends. */
export const keepUp = {
  ...rate,
  measures: ({ connections }) =>
    `deliveries of one webhook during \`send\` with ${connections} connections, receiver: 0 ms`,
  must: '0.95 of the sends',
  aims: '1.00',
  contenders: (sizes) => {
    let sends
    return [
      {
        role: 'floor',
        name: 'sends',
        measure: async () => {
          sends = await measureKeepUp(sizes)
          return { perSecond: sends.sentPerSecond }
        },
      },
      { role: 'ours', name: 'SQLite', measure: async () => sends },
    ]
  },
}

/** Measures a receiver that gets a backlog, after the limit has settled. */
const drainTo = ({ seconds, settle }, receiving) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('limited-receiver', receiving)
    const { latencyMs, perSecond = (1_000 * SLOTS) / latencyMs } = receiving
    const deliveries = Math.ceil(1.2 * perSecond * (settle + seconds)) + 100
    const server = await start('backlog-server', {
      url: receiver.ready.url,
      webhooks: 1,
      deliveries,
      database: await database('sqlite'),
    })
    await server.ask('fill')
    await server.ask('enable')
    while ((await receiver.ask('count')).accepted === 0) await sleep(0.01)
    await sleep(settle)
    const used = await server.ask('usage')
    const before = await receiver.ask('count')
    await sleep(seconds)
    const after = await receiver.ask('count')
    const accepted = after.accepted - before.accepted
    const refused = after.refused - before.refused
    return {
      perSecond: accepted / ((after.at - before.at) / 1_000),
      share: refused / (accepted + refused),
      ...usageBetween(used, await server.ask('usage'), accepted),
    }
  })

const measureKeepUp = ({ seconds, connections }) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver')
    const at = { database: await database('sqlite') }
    const server = await start('server', { ...at, webhooks: [receiver.ready.url] })
    const load = await start('load')
    const busy = { ...server.ready, connections, seconds }
    await load.ask('load', busy)
    const usage = await server.ask('usage')
    const before = await receiver.ask('count')
    const { requests, seconds: took, ...failures } = await load.ask('load', busy)
    const after = await receiver.ask('count')
    refuseFailures({ requests, ...failures })
    const delivered = after.received - before.received
    return {
      perSecond: delivered / took,
      sentPerSecond: requests / took,
      ...usageBetween(usage, await server.ask('usage'), delivered),
    }
  })
