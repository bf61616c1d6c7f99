import { inEnvironment } from '../environment.mjs'
import { drainFrom } from './deliver.mjs'
import { count, ms, rate, usageBetween } from './figures.mjs'
import { refuseFailures } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** The most webhooks of a project. */
const WEBHOOKS = 100
/** The rate for the latency of sends, which leaves the server idle between them. */
const QUIET = 20
const STEADY = 60

/**
 * Measures the deliveries of messages, or of published events, with 100 webhooks each, offered as
 * fast as the same store drains a backlog.
 */
const fanOutOn = (kind, publishes = false) => ({
  figure: (sample) => `${rate.figure(sample)}${sendsOf(sample)}`,
  ratio: ({ ours, floor }) =>
    `${rate.ratio({ ours, floor })}, p99 of send ${(ours.p99 / floor.p99).toFixed(2)} ×`,
  measures: ({ deliveries }) =>
    `deliveries of ${publishes ? 'published events' : 'messages'} with ${WEBHOOKS} webhooks each, next to a backlog of ${count(deliveries / 5)}, ${STORES[kind]}`,
  must: '0.70 of the backlog, p99 of send ≤ 2 × that with one webhook',
  aims: '0.90',
  contenders: (sizes) => {
    let backlog = 0
    return [
      {
        role: 'floor',
        name: 'backlog, and sends with one webhook',
        measure: async () => {
          const drained = await inEnvironment((environment) => drainOn(environment, kind, sizes))
          backlog = drained.perSecond
          return { ...drained, ...(await measureSends(sizes, { kind, publishes }, 1)) }
        },
      },
      {
        role: 'ours',
        name: STORES[kind],
        measure: async () => ({
          ...(await measureAt(
            sizes,
            { kind, publishes },
            Math.max(STEADY, Math.ceil(backlog / WEBHOOKS)),
          )),
          ...(await measureSends(sizes, { kind, publishes }, WEBHOOKS)),
        }),
      },
      {
        role: 'peer',
        name: `at ${STEADY} messages a second`,
        measure: () => measureAt(sizes, { kind, publishes }, STEADY),
      },
    ]
  },
})
export const fanOut = fanOutOn('sqlite')
export const fanOutPostgres = fanOutOn('postgres')
export const fanOutPublish = fanOutOn('sqlite', true)
export const fanOutPublishPostgres = fanOutOn('postgres', true)

const sendsOf = ({ p99 }) => (p99 === undefined ? '' : `, p99 of send ${ms(p99)} ms`)

const drainOn = async ({ start, database }, kind, { deliveries }) =>
  drainFrom({
    start,
    program: 'backlog-server',
    deliveries: Math.round(deliveries / 5),
    database: await database(kind),
  })

/** Measures deliveries at a rate of messages, after the same time for the compiler. */
const measureAt = ({ seconds }, of, messagesPerSecond) =>
  inEnvironment(async (environment) => {
    const { server, receiver, caller } = await startAll(environment, of, WEBHOOKS)
    const paced = { ...server.ready, connections: 50, rate: messagesPerSecond, seconds }
    refuseFailures(await caller.ask('pace', paced))
    const before = { ...(await server.ask('usage')), ...(await receiver.ask('count')) }
    refuseFailures(await caller.ask('pace', paced))
    const after = { ...(await server.ask('usage')), ...(await receiver.ask('count')) }
    const delivered = after.received - before.received
    return {
      perSecond: (1_000 * delivered) / (after.at - before.at),
      ...usageBetween(before, after, delivered),
    }
  })

const measureSends = ({ seconds }, of, webhooks) =>
  inEnvironment(async (environment) => {
    const { server, caller } = await startAll(environment, of, webhooks)
    const paced = { ...server.ready, connections: 10, rate: QUIET, seconds: 2 * seconds }
    refuseFailures(await caller.ask('pace', paced))
    const { p50, p99, ...result } = await caller.ask('pace', paced)
    refuseFailures(result)
    return { p50, p99 }
  })

async function startAll(environment, { kind, publishes }, webhooks) {
  const receiver = await environment.start('receiver')
  const urls = Array.from({ length: webhooks }, () => receiver.ready.url)
  const server = await service(kind)(environment, { webhooks: urls, publishes })
  return { receiver, server, caller: await environment.start('caller') }
}
