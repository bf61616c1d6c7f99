import { inEnvironment } from '../environment.mjs'
import { ms, rate } from './figures.mjs'
import { underLoad } from './send.mjs'

const DEFAULT = 10
const OTHERS = [2, 4, 6, 20]

/** Measures sends with other numbers of connections to PostgreSQL. */
export const poolPostgres = {
  figure: (sample) => `${rate.figure(sample)}, p99 ${ms(sample.p99)} ms`,
  ratio: ({ ours, peers }) =>
    peers.map(({ perSecond }) => (perSecond / ours.perSecond).toFixed(2)).join(', '),
  measures: ({ connections }) =>
    `send → 200, ${connections} callers, ${DEFAULT} connections to PostgreSQL`,
  contenders: (sizes) => [
    { role: 'ours', name: `${DEFAULT} connections`, measure: () => measure(sizes, DEFAULT) },
    ...OTHERS.map((size) => ({
      role: 'peer',
      name: `${size} connections`,
      measure: () => measure(sizes, size),
    })),
  ],
}

const measure = (sizes, databaseConnections) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver')
    const webhooks = [receiver.ready.url]
    const at = await database('postgres')
    const server = await start('server', { database: at, databaseConnections, webhooks })
    return underLoad({ server, receiver, load: await start('load') }, sizes)
  })
