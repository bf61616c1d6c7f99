import { readFileSync } from 'node:fs'
import { startCli } from '../child.mjs'
import { inEnvironment } from '../environment.mjs'
import { MiB, count, usageBetween } from './figures.mjs'
import { STORES } from './servers.mjs'

const CLOSED_PORT = 'http://127.0.0.1:9/hook'
/** The share of callers that is not counted, because the first ones cost more. */
const WARM = 0.05

/** Measures the memory of a server that the CLI started, and that got no request. */
const idleMemoryOn = (kind) => ({
  measures: ({ minute }) =>
    `memory of an idle server ${minute} seconds after its start, ${STORES[kind]}`,
  must: '≤ 110 MiB',
  aims: '90 MiB',
  figure: ({ rss }) => `${Math.round(rss / MiB)} MiB`,
  ratio: () => '',
  contenders: ({ minute }) => [
    { role: 'ours', name: STORES[kind], measure: () => measureIdle(minute, kind) },
  ],
})
export const idleMemory = idleMemoryOn('sqlite')
export const idleMemoryPostgres = idleMemoryOn('postgres')

/** Measures the memory of deliveries to dead receivers. */
export const pendingDeliveries = {
  measures: ({ pending }) =>
    `memory of ${count(pending)} pending deliveries to dead receivers, over idle`,
  must: '≤ 150 MiB',
  figure: ({ over, peak }) =>
    `${Math.round(over / MiB)} MiB, at most ${Math.round(peak / MiB)} MiB`,
  ratio: () => '',
  contenders: (sizes) => [{ role: 'ours', name: 'SQLite', measure: () => measurePending(sizes) }],
}

/**
 * Measures the memory of waiting callers with their connections and requests, in a process that has
 * answered others before. In a fresh process, V8's young generation grows meanwhile.
 */
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
    {
      role: 'peer',
      name: 'ours, in a fresh process',
      measure: () => measureWaiting(sizes, 'server', { isFresh: true }),
    },
  ],
}

const measureIdle = (minute, kind) =>
  inEnvironment(async ({ database }) => {
    const at = await database(kind)
    const { pid, end } = await startCli(kind === 'sqlite' ? `file:${at}` : at)
    await pause(minute)
    const rss = rssOf(pid)
    await end()
    return { rss }
  })

/** Returns the resident memory of another process. Needs Linux. */
const rssOf = (pid) =>
  1_024 * Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1])

const measurePending = ({ pending, seconds }) =>
  inEnvironment(async ({ start, database }) => {
    const options = {
      database: await database('sqlite'),
      url: CLOSED_PORT,
      deliveries: pending,
      enabled: true,
    }
    const server = await start('backlog-server', options)
    const idle = await server.ask('usage')
    await server.ask('fill')
    await pause(seconds) // Circuits open, and probes fail.
    const after = await server.ask('usage')
    return {
      ...usageBetween(idle, after, pending),
      over: after.rss - idle.rss,
      peak: after.peakRss - idle.rss,
    }
  })

const measureWaiting = ({ waiting, seconds }, program, { isFresh = false } = {}) =>
  inEnvironment(async ({ start, database }) => {
    const options = {
      database: await database('sqlite'),
      handler: 'never',
      policy: { syncWaitMs: 600_000 },
    }
    const server = await start(program, options)
    if (!isFresh) await answerMany(await start('load'), server.ready, seconds)
    const callers = await start('waiters')
    await enter(callers, server, Math.ceil(waiting * WARM))
    const before = await server.ask('usage', { collect: true })
    await enter(callers, server, waiting)
    const after = await server.ask('usage', { collect: true })
    return {
      ...usageBetween(before, after, waiting),
      perWaiter: (after.rss - before.rss) / waiting,
    }
  })

/** Sends requests to a path without a route, which are answered at once. */
async function answerMany(load, { url, headers }, seconds) {
  await load.ask('load', { url: `${url}/none`, headers, seconds, connections: 50 })
  await load.end()
}

/** Sends callers and waits until the server has accepted all of them. */
async function enter(callers, server, waiting) {
  const before = await server.ask('count')
  await callers.ask('enter', { ...server.ready, waiting })
  for (let look = 0; (await server.ask('count')).accepted < before.accepted + waiting; look++) {
    if (look === 100) throw new Error('the server did not accept all callers')
    await pause(0.1)
  }
  await pause(0.5)
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
