import { inEnvironment } from '../environment.mjs'
import { MiB, count, ms } from './figures.mjs'
import { figuresOf, underLoad } from './send.mjs'

const WINDOWS = 10
const KEPT_MS = 60_000

/** Runs half of the full load for `--minutes`, with purges. No figure should grow. */
export const soak = {
  isLong: true,
  measures: ({ minutes }) =>
    `half the rate of send for ${minutes} minutes, purged after one: RSS, handles, latency`,
  figure: ({ rss, handles, p50, p99 }) =>
    `${count(rss / MiB)} MiB, ${handles} handles, ${ms(p50)} / ${ms(p99)} ms`,
  ratio: ({ ours, floor }) => `RSS ${(ours.rss / floor.rss).toFixed(2)} ×`,
  must: 'flat',
  contenders: (sizes) => {
    let soaked
    const at = (window) => async () => (await (soaked ??= soakFor(sizes)))[window]
    return [
      { role: 'floor', name: 'start', measure: at(0) },
      { role: 'peer', name: 'middle', measure: at(WINDOWS / 2) },
      { role: 'ours', name: 'end', measure: at(WINDOWS - 1) },
    ]
  },
}

const soakFor = (sizes) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver')
    const retention = { deliveriesMs: KEPT_MS, messagesMs: KEPT_MS, eventsMs: KEPT_MS }
    const policy = { retention }
    const server = await start('server', {
      database: await database('sqlite'),
      policy,
      webhooks: [receiver.ready.url],
    })
    const load = await start('load')
    const { perSecond } = await underLoad({ server, receiver, load }, sizes)
    const windows = []
    const caller = await start('caller')
    const half = {
      ...server.ready,
      connections: sizes.connections,
      rate: Math.ceil(perSecond / 2),
      seconds: (sizes.minutes * 60) / WINDOWS,
    }
    for (let n = 0; n < WINDOWS; n++) {
      windows.push(await figuresOf({ server, receiver }, () => caller.ask('pace', half)))
      console.error(`  ${n + 1} of ${WINDOWS}: ${soak.figure(windows[n])}`)
    }
    return windows
  })
