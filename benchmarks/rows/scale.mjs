import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { unwrap } from '@org/agent-messaging-testing'
import { inEnvironment } from '../environment.mjs'
import { EVENTS } from '../processes/message.mjs'
import { drainFrom } from './deliver.mjs'
import { allMicros, costs, count, ms, percentiles, rate } from './figures.mjs'
import { filled } from './growth.mjs'
import { underLoad, untilRecorded, WARM } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** Stored messages of the database that the large one is compared with. */
const FEW = 10_000
/** Pages of a list or a search, and steps of a purge. */
const PAGES = 20
const STEPS = 50
/** Rows a step, as in core's `workers/maintenance.ts`. */
const STEP = 100

/** Measures everything that could grow with the stored messages, with ten millions of them. */
const scaleOn = (kind) => ({
  isLong: true,
  sizes: { stored: 10_000_000, deliveries: 10_000 },
  figure: ({ perSecond, published, delivered, list, search, purge }) =>
    `${count(perSecond)}/s sent, ${count(published)}/s published, ${count(delivered)}/s delivered, list ${ms(list)} ms, search ${ms(search)} ms, purge ${count(purge)} µs`,
  ratio: ({ ours, floor }) =>
    [
      ...['perSecond', 'published', 'delivered'].map((key) => (ours[key] / floor[key]).toFixed(2)),
      ...['list', 'search', 'purge'].map((key) => `${(ours[key] / floor[key]).toFixed(2)} ×`),
    ].join(', '),
  measures: ({ stored }) =>
    `send, publish, deliver, list, search and purge with ${count(stored)} messages stored, ${STORES[kind]}`,
  must: 'rates 0.9, times 1.1 × of 10,000 stored',
  contenders: (sizes) => [
    { role: 'floor', name: count(FEW), measure: () => measureStored(kind, FEW, sizes) },
    { role: 'ours', name: STORES[kind], measure: () => measureStored(kind, sizes.stored, sizes) },
  ],
})
export const scale = scaleOn('sqlite')
export const scalePostgres = scaleOn('postgres')

/** The database is not copied: a copy of ten million messages takes as long as filling it. */
const measureStored = async (kind, stored, sizes) => {
  const database = await filled(kind, stored)
  const { sent, published, list, search } = await inEnvironment(async ({ start }) => {
    const receiver = await start('receiver')
    const server = await start('server', { database, webhooks: [receiver.ready.url] })
    const load = await start('load')
    const { url, headers } = server.ready
    const sent = await underLoad({ server, receiver, load }, { ...sizes, randomKeys: true })
    const events = { ...server, ready: { url: new URL(EVENTS, url).href, headers } }
    return {
      sent,
      published: await underLoad({ server: events, receiver, load }, sizes),
      list: await timeOfPages(new URL('/v1/messages', url), headers),
      search: await timeOfPages(new URL('/v1/messages?text=neverwritten', url), headers),
    }
  })
  const { perSecond: delivered } = await inEnvironment(({ start }) =>
    drainFrom({ start, program: 'backlog-server', deliveries: sizes.deliveries, database }),
  )
  return {
    ...sent,
    published: published.perSecond,
    delivered,
    list,
    search,
    purge: await microsOfPurge(kind, database),
  }
}

/** Returns the median time of a page in ms. */
async function timeOfPages(url, headers) {
  const times = []
  for (let cursor = ''; times.length < PAGES && cursor !== undefined;) {
    if (cursor) url.searchParams.set('cursor', cursor)
    const since = performance.now()
    const response = await fetch(url, { headers })
    const page = await response.json()
    if (!response.ok) throw new Error(`answered ${response.status}: ${JSON.stringify(page)}`)
    times.push(performance.now() - since)
    cursor = page.nextCursor ?? undefined
  }
  return percentiles(times).p50
}

/** Returns the time to delete a message with its delivery in µs. */
async function microsOfPurge(kind, database) {
  const { deliveries, messages, close } =
    kind === 'sqlite'
      ? openSqliteStorage({ path: database })
      : await openPostgresStorage({ connectionString: database })
  const finishedBefore = Date.now() + 1
  const since = performance.now()
  for (const store of [deliveries, messages])
    for (let step = 0; step < STEPS; step++)
      unwrap(await store.purge({ finishedBefore, limit: STEP }))
  const took = performance.now() - since
  await close()
  return (1_000 * took) / (STEPS * STEP)
}

const WEBHOOKS = 10

/** Measures sends of many projects, each with its own key, agent and webhooks. */
const projectsOn = (kind) => ({
  isLong: true,
  figure: (sample) => `${rate.figure(sample)}, ${costs(sample)}`,
  ratio: ({ ours, floor }) =>
    `${rate.ratio({ ours, floor })}, CPU ${(allMicros(ours) / allMicros(floor)).toFixed(2)} ×`,
  measures: ({ projects, connections }) =>
    `send → 200 and its ${WEBHOOKS} deliveries, ${connections} callers of ${count(projects)} projects with ${WEBHOOKS} webhooks each, ${STORES[kind]}`,
  must: '0.9 of one project',
  contenders: (sizes) => [
    { role: 'floor', name: 'one project', measure: () => measureProjects(kind, 1, sizes) },
    {
      role: 'ours',
      name: STORES[kind],
      measure: () => measureProjects(kind, sizes.projects, sizes),
    },
  ],
})
export const projects = projectsOn('sqlite')
export const projectsPostgres = projectsOn('postgres')

const measureProjects = (kind, number, { seconds, connections }) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const webhooks = Array.from({ length: WEBHOOKS }, () => receiver.ready.url)
    const server = await service(kind)(environment)
    const { callers } = await server.ask('moreProjects', { number, webhooks })
    const caller = await environment.start('caller')
    const flood = { command: 'flood', callers, connections }
    const of = { kind, server, receiver, caller, webhooks: WEBHOOKS }
    await untilRecorded(of, { ...flood, seconds: WARM * seconds })
    return untilRecorded(of, { ...flood, seconds })
  })
