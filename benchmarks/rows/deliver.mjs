import { inEnvironment } from '../environment.mjs'
import { count, rate, usageBetween } from './figures.mjs'

const WARM = 0.2
/** A message has one delivery per webhook. */
const WEBHOOKS = 10
const PER_SESSION = 10
const SESSIONS = { perSession: PER_SESSION }

/** Drains a backlog over real sockets: claims, signs, sends and records each delivery. */
export const deliver = {
  ...rate,
  measures: ({ deliveries }) =>
    `deliveries of a backlog of ${count(deliveries)}, 64 slots, SQLite FULL`,
  must: '0.79 of the floor',
  aims: '0.85',
  contenders: (sizes) => [
    equalPromise(sizes, 'sqlite'),
    noStore(sizes, 'limit'),
    { role: 'ours', name: 'SQLite', measure: () => drain('backlog-server', sizes, 'sqlite') },
  ],
}

/** The same on PostgreSQL, next to job queues with `fetch`. */
export const deliverPostgres = {
  ...rate,
  ratio: ({ ours, floor, peers }) =>
    [
      (ours.perSecond / floor.perSecond).toFixed(2),
      ...peers.map(({ name, perSecond }) => `${(ours.perSecond / perSecond).toFixed(1)} × ${name}`),
    ].join(', '),
  measures: ({ deliveries }) =>
    `deliveries of a backlog of ${count(deliveries)}, 64 slots, PostgreSQL`,
  must: '0.65 of the floor',
  aims: '0.80',
  contenders: (sizes) => [
    equalPromise(sizes, 'postgres'),
    noStore(sizes, 'limit'),
    { role: 'ours', name: 'PostgreSQL', measure: () => drain('backlog-server', sizes, 'postgres') },
    {
      role: 'peer',
      name: 'graphile-worker',
      measure: () => drain('deliver-graphile-worker', sizes, 'postgres'),
    },
    { role: 'peer', name: 'pg-boss', measure: () => drain('deliver-pg-boss', sizes, 'postgres') },
    { role: 'peer', name: 'BullMQ', measure: () => drainBullMq(sizes) },
  ],
}

/** The same for webhooks that keep the order of each session, next to webhooks that do not. */
const ordered = (kind, store) => ({
  ...rate,
  ratio: ({ ours, floor, peers }) =>
    [
      (ours.perSecond / floor.perSecond).toFixed(2),
      ...peers.map(
        ({ name, perSecond }) => `${(ours.perSecond / perSecond).toFixed(2)} of ${name}`,
      ),
    ].join(', '),
  measures: ({ deliveries }) =>
    `deliveries in order of a backlog of ${count(deliveries)}, ${PER_SESSION} per session and webhook, 64 slots, ${store}`,
  must: '0.50 of unordered',
  aims: '0.80',
  contenders: (sizes) => [
    noStore(sizes, 'floor'),
    {
      role: 'ours',
      name: 'ordered',
      measure: () => drain('backlog-server', { ...sizes, ...SESSIONS, ordering: 'session' }, kind),
    },
    {
      role: 'peer',
      name: 'unordered',
      measure: () => drain('backlog-server', { ...sizes, ...SESSIONS }, kind),
    },
  ],
})
export const deliverOrdered = ordered('sqlite', 'SQLite FULL')
export const deliverOrderedPostgres = ordered('postgres', 'PostgreSQL')

const noStore = (sizes, role) => ({
  role,
  name: 'no store',
  measure: () => drain('deliver-floor', sizes),
})

const equalPromise = (sizes, kind) => ({
  role: 'floor',
  name: 'equal promise',
  measure: () => drain(`../floor-equal/${kind}`, { ...sizes, filledBy: 'backlog-server' }, kind),
})

const drain = (program, sizes, kind) =>
  inEnvironment(async ({ start, database }) =>
    drainFrom({ start, program, ...sizes, ...(kind && { database: await database(kind) }) }),
  )

/** Needs Redis and `npm install --no-save bullmq ioredis`. */
async function drainBullMq(sizes) {
  if (!['bullmq', 'ioredis'].every(isInstalled)) throw new Error('not installed')
  return drain('deliver-bullmq', sizes, 'redis')
}

function isInstalled(name) {
  try {
    return import.meta.resolve(name) !== ''
  } catch {
    return false
  }
}

/**
 * Does not count the first deliveries, because Node compiles the code during them. `filledBy` names
 * a program that makes the backlog, if `program` does not.
 */
export async function drainFrom({ start, program, filledBy = program, deliveries, ...backlog }) {
  const receiver = await start('receiver')
  const all = deliveries + Math.ceil((deliveries * WARM) / WEBHOOKS) * WEBHOOKS
  const { database, perSession, ordering } = backlog
  const options = { url: receiver.ready.url, deliveries: all, database, perSession, ordering }
  const filler = await start(filledBy, options)
  await filler.ask('fill')
  if (filledBy !== program) await filler.end()
  const sender = filledBy === program ? filler : await start(program, options)
  const receiverBefore = await receiver.ask('usage')
  const { before, after, made } = await sender.ask('drain', { uncounted: all - deliveries })
  const receiverUse = usageBetween(receiverBefore, await receiver.ask('usage'), all)
  const { received } = await receiver.ask('count')
  if (received !== all) throw new Error(`the receiver got ${received} of ${all}`)
  const seconds = (after.at - before.at) / 1_000
  return {
    perSecond: made / seconds,
    ...usageBetween(before, after, made),
    receiverBusy: receiverUse.busy,
  }
}
