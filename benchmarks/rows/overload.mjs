import { inEnvironment } from '../environment.mjs'
import { together } from '../rounds.mjs'
import { ms, usageBetween } from './figures.mjs'
import { refuseFailures, warmUp } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** Messages a second of the project that does not flood. */
const RATE = 18
const CALLERS = [50, 300, 1_000]
const READERS = 300

/** Measures the sends of one project while another project floods the server. */
const overloadOn = (kind) => ({
  figure: ({ p50, p99, lost, refused }) =>
    `${ms(p50)} ms p50, ${ms(p99)} ms p99, ${percent(lost)} lost, ${percent(refused)} of the flood refused`,
  ratio: ({ ours, floor }) => `p50 ${(ours.p50 / floor.p50).toFixed(2)} ×`,
  measures: () =>
    `${RATE} sends a second beside another project's ${CALLERS.join(', ')} callers or ${READERS} readers without pauses, the worst of each, ${STORES[kind]}`,
  must: 'p50 ≤ 2 ×, p99 ≤ 1 s, ≤ 1 % lost, 0 % refused',
  contenders: (sizes) =>
    together(
      () => measure(sizes, kind),
      [
        { role: 'floor', name: '50 callers of one project', key: 'alone' },
        { role: 'ours', name: STORES[kind], key: 'flooded' },
      ],
    ),
})
export const overload = overloadOn('sqlite')
export const overloadPostgres = overloadOn('postgres')

const percent = (share) => `${(100 * share).toFixed(1)} %`

const measure = ({ seconds, connections }, kind) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const server = await service(kind)(environment, { webhooks: [receiver.ready.url] })
    await warmUp(environment, server, { seconds, connections })
    const load = await environment.start('load')
    const { p50, p99 } = await load.ask('load', { ...server.ready, seconds, connections })
    const another = await server.ask('anotherProject')
    const [flooder, caller] = [await environment.start('caller'), await environment.start('caller')]
    const beside = async (flood) => {
      const before = await server.ask('usage')
      const [counts, sent] = await Promise.all([
        flooder.ask('flood', { ...server.ready, seconds, ...flood }),
        caller.ask('pace', { ...another, rate: RATE, seconds, connections: RATE }),
      ])
      refuseFailures({ ...counts, refused: 0 })
      const { requests, refused, failed, p50, p99 } = sent
      return {
        p50,
        p99,
        lost: 1 - requests / (requests + refused + failed),
        refused: counts.refused / Math.max(1, counts.refused + counts.requests),
        ...usageBetween(before, await server.ask('usage'), counts.requests + requests),
      }
    }
    const each = []
    for (const callers of CALLERS) each.push(await beside({ connections: callers }))
    each.push(await beside({ connections: READERS, reads: true }))
    return { alone: { p50, p99, lost: 0, refused: 0 }, flooded: worstOf(each) }
  })

const worstOf = (each) => ({
  ...each[0],
  ...Object.fromEntries(
    ['p50', 'p99', 'lost', 'refused'].map((key) => [key, Math.max(...each.map((one) => one[key]))]),
  ),
})
