import { rate } from './figures.mjs'
import { measureSend } from './send.mjs'
import { equalPromise, service, STORES } from './servers.mjs'

/**
 * Measures published events: with an API key, an id, one delivered webhook per event, and an fsync
 * of each commit.
 */
const publishOn = (kind) => ({
  ...rate,
  measures: ({ connections }) => `publish → 202, ${connections} connections, ${STORES[kind]}`,
  must: '0.60 of the floor',
  aims: '0.80',
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'equal promise',
      measure: () => measureSend(sizes, equalPromise(kind), { publishes: true }),
    },
    {
      role: 'ours',
      name: STORES[kind],
      measure: () => measureSend(sizes, service(kind), { publishes: true }),
    },
    { role: 'peer', name: 'a send', measure: () => measureSend(sizes, service(kind)) },
  ],
})
export const publish = publishOn('sqlite')
export const publishPostgres = publishOn('postgres')
