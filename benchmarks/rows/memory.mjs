import { onStage } from '../stage.mjs'
import { MiB, count, taken } from './figures.mjs'

const NOBODY = 'http://127.0.0.1:9/hook' // refused at once
/** What the first ones take is not what one more takes. */
const WARM = 0.05

/** What a process keeps of deliveries that it cannot make. */
export const pendingDeliveries = {
  measures: ({ pending }) =>
    `memory of ${count(pending)} pending deliveries to dead receivers, over idle`,
  must: '≤ 150 MiB',
  figure: ({ over, peak }) =>
    `${Math.round(over / MiB)} MiB, at most ${Math.round(peak / MiB)} MiB`,
  ratio: () => '',
  contenders: (sizes) => [{ role: 'ours', name: 'SQLite', measure: () => measurePending(sizes) }],
}

/** A caller who waits costs its connection and its request, and what is ours. */
export const waitingCallers = {
  measures: ({ waiting }) =>
    `memory of ${count(waiting)} waiting callers, each with its connection`,
  must: '≤ 20 KiB per waiter',
  figure: ({ perWaiter }) => `${(perWaiter / 1024).toFixed(1)} KiB per waiter`,
  ratio: ({ ours, floor }) =>
    `${((ours.perWaiter - floor.perWaiter) / 1024).toFixed(1)} KiB over the floor`,
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'a route that waits',
      measure: () => measureWaiting(sizes, 'waiting-floor'),
    },
    { role: 'ours', name: 'SQLite', measure: () => measureWaiting(sizes, 'server') },
  ],
}

const measurePending = ({ pending, seconds }) =>
  onStage(async ({ start, database }) => {
    const options = {
      database: await database('sqlite'),
      url: NOBODY,
      deliveries: pending,
      enabled: true,
    }
    const server = await start('backlog-server', options)
    const idle = await server.ask('usage')
    await server.ask('fill')
    await pause(seconds) // circuits open, probes fail
    const after = await server.ask('usage')
    return {
      ...taken(idle, after, pending),
      over: after.rss - idle.rss,
      peak: after.peakRss - idle.rss,
    }
  })

const measureWaiting = ({ waiting }, program) =>
  onStage(async ({ start, database }) => {
    const options = {
      database: await database('sqlite'),
      handler: 'never',
      policy: { syncWaitMs: 600_000 },
    }
    const server = await start(program, options)
    const callers = await start('waiters')
    await enter(callers, server, Math.ceil(waiting * WARM))
    const before = await server.ask('usage', { collect: true })
    await enter(callers, server, waiting)
    const after = await server.ask('usage', { collect: true })
    return { ...taken(before, after, waiting), perWaiter: (after.rss - before.rss) / waiting }
  })

/** Ends when the server has all of them. */
async function enter(callers, server, waiting) {
  const before = await server.ask('count')
  await callers.ask('enter', { ...server.ready, waiting })
  for (let look = 0; (await server.ask('count')).accepted < before.accepted + waiting; look++) {
    if (look === 100) throw new Error('not all callers came in')
    await pause(0.1)
  }
  await pause(0.5)
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
