import { databaseMicros, inEnvironment } from '../environment.mjs'
import { rate, usageBetween } from './figures.mjs'
import { equalPromise, service, STORES } from './servers.mjs'

/**
 * Measures complete sends: with an API key, an idempotency key, one delivered webhook per message,
 * and an fsync of each commit.
 */
const sendOn = (kind, { must, aims }) => ({
  ...rate,
  measures: ({ connections }) =>
    `send → 200, instant agent, ${connections} connections, ${STORES[kind]}`,
  must,
  aims,
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'equal promise',
      measure: () => measureSend(sizes, equalPromise(kind)),
    },
    { role: 'limit', name: 'no store', measure: () => measureSend(sizes, withoutStore) },
    { role: 'ours', name: STORES[kind], measure: () => measureSend(sizes, service(kind)) },
    {
      role: 'peer',
      name: 'two commits and no more',
      measure: () => measureSend(sizes, twoCommits(kind)),
    },
  ],
})
export const send = sendOn('sqlite', { must: '0.70 of the floor', aims: '0.85' })
export const sendPostgres = sendOn('postgres', { must: '0.65 of the floor', aims: '0.80' })

const withoutStore = ({ start }) => start('send-floor')

/** Returns a function that starts a server of the two commits of a send. */
export const twoCommits =
  (kind) =>
  async ({ start, database }) =>
    start('send-floor', { database: await database(kind) })

/** Measures a server with one webhook under full load. */
export const measureSend = (sizes, startServer, options) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const webhooks = [receiver.ready.url]
    const server = await startServer(environment, { webhooks, ...options })
    return underLoad({ server, receiver, load: await environment.start('load') }, sizes)
  })

/** Node goes on compiling for about 15 seconds of full load. */
export const WARM = 3

/** Measures a server under full load, after a longer load for the compiler. */
export async function underLoad(
  { server, receiver, load },
  { seconds, connections, randomKeys = false },
) {
  const busy = { ...server.ready, connections, seconds, randomKeys }
  await load.ask('load', { ...busy, seconds: WARM * seconds })
  return figuresOf({ server, receiver }, () => load.ask('load', busy))
}

/** Loads a server that is measured at a light load. */
export async function warmUp({ start }, { ready }, { seconds, connections }) {
  const load = await start('load')
  await load.ask('load', { ...ready, connections, seconds: WARM * seconds })
  await load.end()
}

/** Measures a server while `callers` send. */
export async function figuresOf({ server, receiver }, callers) {
  const before = await server.ask('usage')
  const receiverBefore = await receiver.ask('usage')
  const { requests, seconds: took, p50, p99, ...failures } = await callers()
  const after = await server.ask('usage')
  const { busy: receiverBusy } = usageBetween(receiverBefore, await receiver.ask('usage'), requests)
  refuseFailures({ requests, ...failures })
  return {
    perSecond: requests / took,
    p50,
    p99,
    ...usageBetween(before, after, requests),
    handles: after.handles,
    receiverBusy,
  }
}

/** A server records an attempt within 40 ms. */
const RECORDED_MS = 100
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time))

/**
 * Measures the server and its database while `caller` sends, until the deliveries are recorded.
 * `load` is the command for the caller with its options.
 */
export async function untilRecorded(
  { kind, server, receiver, caller, webhooks = 1 },
  { command, ...load },
) {
  const { received } = await receiver.ask('count')
  const before = { database: await databaseMicros(kind), caller: await caller.ask('usage') }
  let requests
  const figures = await figuresOf({ server, receiver }, async () => {
    const result = await caller.ask(command, { ...server.ready, ...load })
    requests = result.requests
    while ((await receiver.ask('count')).received < received + requests * webhooks) await pause(5)
    await pause(RECORDED_MS)
    return result
  })
  return {
    ...figures,
    ofDatabase: ((await databaseMicros(kind)) - before.database) / requests,
    callerBusy: usageBetween(before.caller, await caller.ask('usage'), requests).busy,
  }
}

/** Throws if a request failed or was refused, because the figure would be wrong. */
export function refuseFailures({ requests, failed, refused = 0, reasons }) {
  const all = requests + failed + refused
  if (failed > 0) throw new Error(`${failed} of ${all} requests failed: ${reasons}`)
  if (refused > 0) throw new Error(`${refused} of ${all} requests were answered with 503`)
}
