import { inEnvironment } from '../environment.mjs'
import { latency, percentiles, usageBetween } from './figures.mjs'
import { refuseFailures } from './send.mjs'

const IDLE_MS = 5
const WEBHOOKS = 10

/**
 * Measures the time from an answer's commit to its arrival on an idle server. Sends the same number
 * of messages first, because new code is slower.
 */
export const firstByte = {
  ...latency,
  ratio: ({ ours, floor }) => `p50 ${(ours.p50 / floor.p50).toFixed(2)} ×`,
  measures: () => 'commit of the answer → first byte at the receiver, idle, SQLite FULL',
  must: 'p50 ≤ 1 ms, p99 ≤ 5 ms',
  aims: 'p50 ≤ 0.3 ms',
  contenders: (sizes) => [
    { role: 'floor', name: 'sign and send', measure: () => measureFloor(sizes) },
    { role: 'ours', name: 'SQLite', measure: () => measureIdle(sizes) },
  ],
}

/** The same under load, for nine receivers next to a tenth that never answers. */
export const hanging = {
  ...latency,
  ratio: ({ ours, floor }) => `p99 ${(ours.p99 / floor.p99).toFixed(2)} ×`,
  measures: ({ beside }) =>
    `the same to 9 receivers at ${beside} messages a second, with a hanging 10th`,
  must: 'p99 ≤ 1.2 × without',
  aims: '1.0 ×',
  contenders: (sizes) => [
    { role: 'floor', name: 'all 10 answer', measure: () => measureBeside(sizes, 'url') },
    { role: 'ours', name: 'one hangs', measure: () => measureBeside(sizes, 'hanging') },
  ],
}

const measureFloor = ({ messages }) =>
  inEnvironment(async ({ start }) => {
    const receiver = await start('receiver', { log: true })
    const sender = await start('first-byte-floor', receiver.ready)
    await sender.ask('send', { messages, pauseMs: IDLE_MS })
    const finished = await sender.ask('send', { messages, pauseMs: IDLE_MS })
    return delays(finished, await receiver.ask('arrivals'))
  })

const measureIdle = ({ messages }) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver', { log: true })
    const server = await start('server', {
      database: await database('sqlite'),
      log: true,
      webhooks: [receiver.ready.url],
    })
    const caller = await start('caller')
    await caller.ask('send', { ...server.ready, messages, pauseMs: IDLE_MS })
    const before = await server.ask('usage')
    await caller.ask('send', { ...server.ready, messages, pauseMs: IDLE_MS })
    const use = usageBetween(before, await server.ask('usage'), messages)
    const finished = (await server.ask('finished')).slice(messages)
    return { ...delays(finished, await arrivalsOf(receiver, 2 * messages)), ...use }
  })

/** `tenth` names the URL of the tenth webhook. */
const measureBeside = ({ seconds, beside }, tenth) =>
  inEnvironment(async ({ start, database }) => {
    const others = await start('receiver', { log: true })
    const one = await start('receiver')
    const webhooks = [
      ...Array.from({ length: WEBHOOKS - 1 }, () => others.ready.url),
      one.ready[tenth],
    ]
    const server = await start('server', {
      database: await database('sqlite'),
      log: true,
      webhooks,
    })
    const caller = await start('caller')
    const paced = { ...server.ready, connections: 10, rate: beside, seconds }
    await caller.ask('pace', paced)
    const before = await server.ask('usage')
    const { length: warm } = await server.ask('finished')
    const { requests, ...failures } = await caller.ask('pace', paced)
    refuseFailures({ requests, ...failures })
    const use = usageBetween(before, await server.ask('usage'), requests)
    const arrivals = await arrivalsOf(others, (warm + requests) * (WEBHOOKS - 1))
    return { ...delays((await server.ask('finished')).slice(warm), arrivals), ...use }
  })

/** Waits for the last requests, at most 10 s. */
async function arrivalsOf(receiver, expected) {
  for (let look = 0; look < 200; look++) {
    const { received } = await receiver.ask('count')
    if (received >= expected) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return receiver.ask('arrivals')
}

/** Returns the percentiles of the times from each commit to its arrivals. */
function delays(finished, arrivals) {
  const commits = new Map(finished.map(({ messageId, at }) => [messageId, at]))
  const times = arrivals
    .filter(({ messageId }) => commits.has(messageId))
    .map(({ messageId, at }) => (at - commits.get(messageId)) / 1e6)
  if (times.length === 0) throw new Error('no delivery arrived')
  return percentiles(times)
}
