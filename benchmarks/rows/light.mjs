import { inEnvironment } from '../environment.mjs'
import { allMicros, costs, latency } from './figures.mjs'
import { untilRecorded, warmUp } from './send.mjs'
import { equalPromise, service, STORES } from './servers.mjs'

/** Measures messages at even intervals, as most services get them: groups of writes stay small. */
const lightOn = (kind, { must, aims }) => ({
  figure: (sample) => `${latency.figure(sample)}, server ${costs(sample)}`,
  ratio: ({ ours, floor }) =>
    `p50 ${(ours.p50 / floor.p50).toFixed(2)} ×, CPU ${(allMicros(ours) / allMicros(floor)).toFixed(2)} ×`,
  measures: ({ beside }) =>
    `send → 200 at ${beside} messages a second, one webhook, ${STORES[kind]}`,
  must,
  aims,
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'equal promise',
      measure: () => measure(sizes, kind, equalPromise(kind)),
    },
    { role: 'ours', name: STORES[kind], measure: () => measure(sizes, kind, service(kind)) },
  ],
})
export const lightSqlite = lightOn('sqlite', {
  must: 'p50 ≤ 1.2 ×, CPU ≤ 1.35 ×',
  aims: '1.05 ×, 1.15 ×',
})
export const lightPostgres = lightOn('postgres', {
  must: 'p50 ≤ 1.35 ×, CPU ≤ 1.45 ×',
  aims: '1.15 ×, 1.2 ×',
})

const measure = ({ seconds, beside, connections }, kind, startServer) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const server = await startServer(environment, { webhooks: [receiver.ready.url] })
    await warmUp(environment, server, { seconds, connections })
    const caller = await environment.start('caller')
    const paced = { command: 'pace', connections: 10, rate: beside, seconds: 2 * seconds }
    await caller.ask('pace', { ...server.ready, ...paced })
    return untilRecorded({ kind, server, receiver, caller }, paced)
  })
