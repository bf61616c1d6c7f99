import { inEnvironment } from '../environment.mjs'
import { rate, usageBetween } from './figures.mjs'

const ours = (kind) => ({ program: 'server', kind })

/**
 * Measures complete sends: with an API key, an idempotency key, one delivered webhook per message,
 * and an fsync of each commit.
 */
export const send = {
  ...rate,
  measures: ({ connections }) =>
    `send → 200, instant agent, ${connections} connections, SQLite FULL`,
  must: '0.25 of the floor',
  aims: '0.40',
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'no store',
      measure: () => measureSend(sizes, { program: 'send-floor' }),
    },
    { role: 'ours', name: 'SQLite', measure: () => measureSend(sizes, ours('sqlite')) },
    {
      role: 'peer',
      name: 'two commits and no more',
      measure: () => measureSend(sizes, { program: 'send-floor', kind: 'sqlite' }),
    },
  ],
}

export const sendPostgres = {
  ...rate,
  measures: ({ connections }) =>
    `send → 200, instant agent, ${connections} connections, PostgreSQL`,
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'two commits, grouped',
      measure: () => measureSend(sizes, { program: 'send-floor', kind: 'postgres' }),
    },
    { role: 'ours', name: 'PostgreSQL', measure: () => measureSend(sizes, ours('postgres')) },
  ],
}

const measureSend = (sizes, { program, kind }) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver')
    const at = kind && { database: await database(kind) }
    const server = await start(program, { ...at, webhooks: [receiver.ready.url] })
    return underLoad({ server, receiver, load: await start('load') }, sizes)
  })

/** Measures a server under full load, after the same time of load for the compiler. */
export async function underLoad({ server, receiver, load }, { seconds, connections }) {
  const busy = { ...server.ready, connections, seconds }
  await load.ask('load', busy)
  return figuresOf({ server, receiver }, () => load.ask('load', busy))
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

/** Throws if a request failed, because the figure would be wrong. */
export function refuseFailures({ requests, failed, reasons }) {
  if (failed > 0) throw new Error(`${failed} of ${requests + failed} requests failed: ${reasons}`)
}
