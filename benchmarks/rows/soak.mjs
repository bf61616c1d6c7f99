import { inEnvironment } from '../environment.mjs'
import { medians } from '../rounds.mjs'
import { MiB, count, ms } from './figures.mjs'
import { figuresOf, warmUp } from './send.mjs'
import { service, STORES } from './servers.mjs'

const WINDOWS = 10
/** Parts of a window. The memory at one time says more about garbage than about growth. */
const PARTS = 10
const KEPT_MS = 60_000

/** Runs a light load for `--minutes`, with purges. No figure should grow. */
const soakOn = (kind) => ({
  isLong: true,
  sizes: { minutes: 60 },
  measures: ({ minutes, beside }) =>
    `${beside} messages a second for ${minutes} minutes, purged after one: RSS, handles, latency, ${STORES[kind]}`,
  figure,
  ratio: ({ ours, floor }) => `RSS ${(ours.rss / floor.rss).toFixed(2)} ×`,
  must: 'RSS ≤ 1.05 ×',
  aims: '1.0 ×',
  contenders: (sizes) => {
    let soaked
    const at = (window) => async () => (await (soaked ??= soakFor(sizes, kind)))[window]
    return [
      { role: 'floor', name: 'start', measure: at(0) },
      { role: 'peer', name: 'middle', measure: at(WINDOWS / 2) },
      { role: 'ours', name: 'end', measure: at(WINDOWS - 1) },
    ]
  },
})

function figure({ rss, handles, p50, p99 }) {
  return `${count(rss / MiB)} MiB, ${handles} handles, ${ms(p50)} / ${ms(p99)} ms`
}

export const soak = soakOn('sqlite')
export const soakPostgres = soakOn('postgres')

const soakFor = (sizes, kind) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const retention = { deliveriesMs: KEPT_MS, messagesMs: KEPT_MS, eventsMs: KEPT_MS }
    const webhooks = [receiver.ready.url]
    const server = await service(kind)(environment, { policy: { retention }, webhooks })
    await warmUp(environment, server, sizes)
    await server.ask('usage', { collect: true }) // The memory of a full load would hide growth.
    const caller = await environment.start('caller')
    const light = {
      ...server.ready,
      connections: 10,
      rate: sizes.beside,
      seconds: (sizes.minutes * 60) / WINDOWS / PARTS,
    }
    const windows = []
    for (let n = 0; n < WINDOWS; n++) {
      const parts = []
      while (parts.length < PARTS)
        parts.push(await figuresOf({ server, receiver }, () => caller.ask('pace', light)))
      windows.push(medians(parts))
      console.error(`  ${n + 1} of ${WINDOWS}: ${figure(windows[n])}`)
    }
    return windows
  })
