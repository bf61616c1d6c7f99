import { inEnvironment } from '../environment.mjs'
import { latency as times, percentiles, usageBetween } from './figures.mjs'

/** Measures one caller, which shares no commits. Sends the same number of messages first. */
export const latency = {
  ...times,
  ratio: ({ ours, floor }) => `p50 ${(ours.p50 / floor.p50).toFixed(2)} ×`,
  measures: () => 'send → 200, instant agent, one client, SQLite FULL',
  must: 'p50 ≤ 2 × the floor',
  aims: '≤ 1.3 ×',
  contenders: (sizes) => [
    { role: 'floor', name: 'two commits', measure: () => measure(sizes, 'send-floor') },
    {
      role: 'peer',
      name: 'ours, with a webhook subscribed',
      measure: () => measure(sizes, 'server', 1),
    },
    { role: 'ours', name: 'SQLite', measure: () => measure(sizes, 'server') },
  ],
}

const measure = ({ messages }, program, webhooks = 0) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver')
    const urls = Array.from({ length: webhooks }, () => receiver.ready.url)
    const server = await start(program, { database: await database('sqlite'), webhooks: urls })
    const caller = await start('caller')
    await caller.ask('send', { ...server.ready, messages })
    const before = await server.ask('usage')
    const latencies = await caller.ask('send', { ...server.ready, messages })
    return {
      ...percentiles(latencies),
      ...usageBetween(before, await server.ask('usage'), messages),
    }
  })
