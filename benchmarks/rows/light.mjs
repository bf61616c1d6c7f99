import { databaseMicros, inEnvironment } from '../environment.mjs'
import { count, latency } from './figures.mjs'
import { figuresOf, warmUp } from './send.mjs'
import { equalPromise, service, STORES } from './servers.mjs'

/** Measures messages at even intervals, as most services get them: groups of writes stay small. */
const lightOn = (kind, { must, aims }) => ({
  figure: (sample) => `${latency.figure(sample)}, ${costs(sample)}`,
  ratio: ({ ours, floor }) =>
    `p50 ${(ours.p50 / floor.p50).toFixed(2)} ×, CPU ${(micros(ours) / micros(floor)).toFixed(2)} ×`,
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
export const lightSqlite = lightOn('sqlite', { aims: 'p50 ≤ 2 ms' })
export const lightPostgres = lightOn('postgres', {
  must: 'CPU ≤ 0.5 of commit 3e69d64',
  aims: 'p50 ≤ 2 ms',
})

const micros = ({ cpuMicros, ofDatabase }) => cpuMicros + ofDatabase

const costs = ({ cpuMicros, ofDatabase }) =>
  ofDatabase === 0
    ? `server ${count(cpuMicros)} µs`
    : `server ${count(cpuMicros)} µs, database ${count(ofDatabase)} µs`

const measure = ({ seconds, beside, connections }, kind, startServer) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const server = await startServer(environment, { webhooks: [receiver.ready.url] })
    await warmUp(environment, server, { seconds, connections })
    const caller = await environment.start('caller')
    const paced = { ...server.ready, connections: 10, rate: beside, seconds: 2 * seconds }
    await caller.ask('pace', paced)
    const before = await databaseMicros(kind)
    const sample = await figuresOf({ server, receiver }, () => caller.ask('pace', paced))
    const messages = sample.perSecond * paced.seconds
    return { ...sample, ofDatabase: ((await databaseMicros(kind)) - before) / messages }
  })
