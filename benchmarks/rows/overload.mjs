import { inEnvironment } from '../environment.mjs'
import { MiB, count, ms, usageBetween } from './figures.mjs'
import { refuseFailures, underLoad } from './send.mjs'
import { service, STORES } from './servers.mjs'

const HIGH = 0.8
const OVER = 2
/** Enough that requests queue in the server and not in the caller. */
const CONNECTIONS = 2_000

/** Measures accepted sends while twice as many arrive as the server can take. */
const overloadOn = (kind) => ({
  figure: ({ perSecond, p99, share, rss }) =>
    `${count(perSecond)}/s, p99 ${ms(p99)} ms, ${(100 * share).toFixed(0)} % refused, ${count(rss / MiB)} MiB`,
  ratio: ({ ours, floor }) => `p99 ${(ours.p99 / floor.p99).toFixed(2)} ×`,
  measures: () => `accepted sends at ${OVER} × the rate of send, open loop, ${STORES[kind]}`,
  must: 'p99 ≤ 2 × that of 80 % load',
  contenders: (sizes) => {
    let both
    return [
      {
        role: 'floor',
        name: `${100 * HIGH} % load`,
        measure: async () => {
          both = await measure(sizes, kind)
          return both.high
        },
      },
      { role: 'ours', name: STORES[kind], measure: async () => both.over },
    ]
  },
})
export const overload = overloadOn('sqlite')
export const overloadPostgres = overloadOn('postgres')

const measure = ({ seconds, connections }, kind) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const server = await service(kind)(environment, { webhooks: [receiver.ready.url] })
    const load = await environment.start('load')
    const { perSecond } = await underLoad({ server, receiver, load }, { seconds, connections })
    const caller = await environment.start('caller')
    const at = async (share) => {
      const rate = Math.max(1, Math.round(share * perSecond))
      const paced = { ...server.ready, rate, seconds, connections: CONNECTIONS }
      await caller.ask('pace', paced)
      const before = await server.ask('usage')
      const {
        requests,
        refused,
        seconds: took,
        p50,
        p99,
        ...failures
      } = await caller.ask('pace', paced)
      refuseFailures({ requests, ...failures })
      const use = usageBetween(before, await server.ask('usage'), requests)
      const share503 = refused / (requests + refused)
      return { perSecond: requests / took, p50, p99, share: share503, ...use }
    }
    return { high: await at(HIGH), over: await at(OVER) }
  })
