import { setTimeout as sleep } from 'node:timers/promises'
import { inEnvironment } from '../environment.mjs'
import { count, ms } from './figures.mjs'
import { STORES } from './servers.mjs'

/** Requests in flight. As many attempts can wait for their record. */
const SLOTS = 64

/** Measures the deliveries that are repeated after kills of a server under full load. */
const killsOn = (kind) => ({
  figure: ({ repeats, killed, most, delivered }) =>
    `${(repeats / killed).toFixed(1)} repeats per kill, at most ${most}, of ${count(delivered)} deliveries`,
  ratio: ({ ours }) => `serves after ${ms(ours.back)} ms`,
  measures: ({ connections, kills: many }) =>
    `${many} kills of a server that ${connections} connections keep busy, ${STORES[kind]}`,
  must: `at most ${2 * SLOTS} repeats after a kill`,
  contenders: (sizes) => [
    { role: 'ours', name: STORES[kind], measure: () => measure(sizes, kind) },
  ],
})
export const kills = killsOn('sqlite')
export const killsPostgres = killsOn('postgres')

const measure = ({ seconds, connections, settle, kills: many }, kind) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver', { log: true })
    const at = { database: await database(kind) }
    let server = await start('server', { ...at, webhooks: [receiver.ready.url] })
    const { port } = new URL(server.ready.url)
    const load = await start('load')
    const busy = { ...server.ready, connections, seconds }
    await load.ask('load', busy)

    const killedAt = []
    const backAfter = []
    for (let n = 0; n < many; n++) {
      const loading = load.ask('load', { ...busy, seconds: 2 * seconds })
      await sleep(1_000 * seconds)
      killedAt.push(Number(process.hrtime.bigint()))
      await server.kill()
      const since = performance.now()
      server = await start('server', { ...at, port: Number(port) })
      backAfter.push(performance.now() - since)
      await loading
    }
    await quiet(receiver, settle)
    const { delivered, repeated } = repeatsIn(await receiver.ask('arrivals'))
    const perKill = killedAt.map(
      (at, n) => repeated.filter((one) => one < at && one >= (killedAt[n - 1] ?? 0)).length,
    )
    return {
      repeats: repeated.length,
      killed: many,
      most: Math.max(...perKill),
      delivered,
      back: Math.max(...backAfter),
    }
  })

/** Resolves when the receiver has got no more requests for a while. */
async function quiet(receiver, seconds) {
  for (let before = -1, now = 0; now > before;) {
    before = now
    await sleep(1_000 * seconds)
    now = (await receiver.ask('count')).received
  }
}

/** Returns the times of the requests that were repeated later. Each message has one delivery. */
function repeatsIn(arrivals) {
  const last = new Map()
  const repeated = arrivals.flatMap(({ messageId, at }) => {
    const before = last.get(messageId)
    last.set(messageId, at)
    return before ?? []
  })
  return { delivered: last.size, repeated }
}
