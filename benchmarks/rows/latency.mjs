import { inEnvironment } from '../environment.mjs'
import { latency as times, percentiles, usageBetween } from './figures.mjs'
import { twoCommits, warmUp } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** Measures one caller, which shares no commits. */
const latencyOn = (kind, { must, aims }) => ({
  ...times,
  ratio: ({ ours, floor }) => `p50 ${(ours.p50 / floor.p50).toFixed(2)} ×`,
  measures: () => `send → 200, instant agent, one client, ${STORES[kind]}`,
  must,
  aims,
  contenders: (sizes) => [
    { role: 'floor', name: 'two commits', measure: () => measure(sizes, twoCommits(kind)) },
    {
      role: 'peer',
      name: 'ours, with a webhook subscribed',
      measure: () => measure(sizes, service(kind), 1),
    },
    { role: 'ours', name: STORES[kind], measure: () => measure(sizes, service(kind)) },
  ],
})
export const latency = latencyOn('sqlite', { must: 'p50 ≤ 1.8 × the floor', aims: '1.3 ×' })
export const latencyPostgres = latencyOn('postgres', {
  must: 'p50 ≤ 1.8 × the floor',
  aims: '1.5 ×',
})

const measure = ({ messages, ...sizes }, startServer, webhooks = 0) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const urls = Array.from({ length: webhooks }, () => receiver.ready.url)
    const server = await startServer(environment, { webhooks: urls })
    await warmUp(environment, server, sizes)
    const caller = await environment.start('caller')
    await caller.ask('send', { ...server.ready, messages })
    const before = await server.ask('usage')
    const latencies = await caller.ask('send', { ...server.ready, messages })
    return {
      ...percentiles(latencies),
      ...usageBetween(before, await server.ask('usage'), messages),
    }
  })
