import {
  messageOf,
  messageStateColumns,
  NO_CLAIMS,
  traceColumn,
  type MessageFacts,
  type RecordedRun,
  type RunRecord,
} from '@org/agent-messaging-core/storage'
import { quoted } from './array-text.js'
import type { Queries } from './database.js'
import { fanOutTo, notWaiting, type FanOut, type NewDelivery } from './fan-out.js'
import { NO_HOOKS, readHooks, type Hooks } from './hooks.js'
import { readReceivers, topicsOf, type KnownReceivers, type Receivers } from './receivers.js'
import { call } from './sql.js'
import { counting, usageParameters, type UsageParameters } from './usage-store.js'

type Settled = MessageFacts & {
  readonly place: number
  readonly sessionWaits: boolean
  /** The ids of deliveries that wait in their order. Null if none has an order. */
  readonly waiting: readonly string[] | null
}

type TopicColumns = {
  readonly [C in 'topicProjects' | 'topicNames' | 'topicVersions']: readonly string[]
}

const settleText = `
  select * from agent_messaging.settle_runs(@messageIds, @tokens, @states, @notBefores,
    @finishedAts, @responseTimes, @responses, @errors, @runUsages, @nows, @eventRuns, @eventIds,
    @eventMessages, @eventSessions, @eventNames, @bodies, @traces, @toldAts, @projectIds,
    @deliveryIds, @webhookSeqs, @dueAts, @leases, @orderKeys, @topicProjects, @topicNames,
    @topicVersions, @hookVersions)`
type SettleColumns = ReturnType<typeof columnsOf> &
  TopicColumns & { readonly hookVersions: readonly (number | null)[] | null }
const settleSql = call<SettleColumns, Settled>(settleText)
const countingSettleSql = call<SettleColumns & UsageParameters, Settled>(counting(settleText))

/** The place of the only row if a webhook or a hook has changed. Then nothing is written. */
const CHANGED = { 0: 'webhooks changed', [-1]: 'hooks changed' } as const
type Changed = (typeof CHANGED)[keyof typeof CHANGED]
/** A hook must change this often during one batch to make the batch fail. */
const MOST_TRIES = 10

/**
 * `MessageStore.recordRun` for a batch of different messages. Uses the known webhooks if the
 * statement finds them unchanged, which saves a round trip. Otherwise reads the webhooks first.
 * Reads hooks only after the statement has found some.
 */
export async function recordRuns(
  db: Queries,
  runs: readonly RunRecord[],
  known: KnownReceivers,
): Promise<RecordedRun[]> {
  const topics = topicsOf(runs.map(({ outgoing }) => outgoing))
  const found = known.find(topics)
  let receivers = found ?? (await readAndKeep(db, topics, known))
  let mustMatch = found !== undefined
  let hooks = NO_HOOKS
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const settled = await settle(db, runs, { receivers, mustMatch, hooks })
    if (typeof settled !== 'string') return settled
    if (settled === 'webhooks changed') {
      receivers = await readAndKeep(db, topics, known)
      mustMatch = false
    } else
      hooks = await readHooks(
        db,
        runs.map(({ messageId }) => messageId),
      )
  }
  throw new Error('hooks of a message changed too often')
}

async function readAndKeep(
  db: Queries,
  topics: ReturnType<typeof topicsOf>,
  known: KnownReceivers,
): Promise<Receivers> {
  const fresh = await readReceivers(db, topics)
  known.keep(fresh)
  return fresh
}

type Known = {
  readonly receivers: Receivers
  /** True if the webhooks can have changed since they were read. */
  readonly mustMatch: boolean
  readonly hooks: Hooks
}

async function settle(
  db: Queries,
  runs: readonly RunRecord[],
  { receivers, mustMatch, hooks }: Known,
): Promise<RecordedRun[] | Changed> {
  const fannedOut = runs.map(({ outgoing }) =>
    outgoing ? fanOutTo(outgoing, receivers, hooks) : NO_EVENTS,
  )
  const topics = mustMatch ? [...receivers.values()] : []
  const usage = usageParameters(runs)
  const columns = {
    topicProjects: topics.map(({ projectId }) => projectId),
    topicNames: topics.map(({ name }) => name),
    topicVersions: topics.map(({ version }) => version),
    hookVersions:
      hooks.size === 0 ? null : runs.map(({ messageId }) => hooks.get(messageId)?.version ?? null),
    ...columnsOf(runs, fannedOut),
  }
  const rows = usage
    ? await db.all(countingSettleSql, { ...columns, ...usage })
    : await db.all(settleSql, columns)
  const place = rows[0]?.place
  if (place === 0 || place === -1) return CHANGED[place]
  const settled = new Map(rows.map((row) => [row.place - 1, row]))
  return runs.map(({ state }, at) => {
    const row = settled.get(at)
    if (!row) return { kind: 'lease_lost' }
    return {
      kind: 'recorded',
      message: messageOf(row, state),
      ...notWaiting(fannedOut[at]?.claims ?? NO_CLAIMS, row.waiting ?? []),
      sessionWaits: row.sessionWaits,
    }
  })
}

const NO_EVENTS: FanOut = { events: [], claims: NO_CLAIMS }

function columnsOf(runs: readonly RunRecord[], fannedOut: readonly FanOut[]) {
  const states = runs.map(({ state }) => messageStateColumns(state))
  const told = fannedOut.flatMap(({ events }, at) =>
    events.map(({ event, deliveries }) => ({ run: at + 1, event, deliveries })),
  )
  const events = told.map(({ event }) => event)
  const deliveries = told.map((one) => one.deliveries)
  return {
    messageIds: runs.map(({ messageId }) => messageId),
    tokens: runs.map(({ token }) => token),
    states: states.map(({ state }) => state),
    notBefores: states.map(({ notBefore }) => notBefore),
    finishedAts: states.map(({ finishedAt }) => finishedAt),
    responseTimes: states.map(({ responseTimeMs }) => responseTimeMs),
    responses: states.map(({ response }) => response),
    errors: states.map(({ error }) => error),
    runUsages: states.map(({ usage }) => usage),
    nows: runs.map(({ now }) => now),
    eventRuns: told.map(({ run }) => run),
    eventIds: events.map(({ id }) => id),
    eventMessages: events.map(({ messageId }) => messageId ?? null),
    eventSessions: events.map(({ sessionId }) => sessionId ?? null),
    eventNames: events.map(({ name }) => name),
    bodies: events.map(({ body }) => body),
    traces: events.map(({ trace }) => traceColumn(trace)),
    toldAts: events.map(({ createdAt }) => createdAt),
    projectIds: events.map(({ projectId }) => projectId),
    deliveryIds: deliveries.map((some) => arrayOf(some, 'id')),
    webhookSeqs: deliveries.map((some) => arrayOf(some, 'webhookSeq')),
    dueAts: deliveries.map((some) => arrayOf(some, 'dueAt')),
    leases: deliveries.map((some) => arrayOf(some, 'lease')),
    orderKeys: deliveries.some((some) => some.some(hasOrder)) ? deliveries.map(orderKeysOf) : null,
  }
}

/**
 * Writes an array in PostgreSQL's syntax, because inner arrays of an array cannot differ in length.
 * Ids and numbers need no quotes.
 */
const arrayOf = (
  deliveries: readonly NewDelivery[],
  column: Exclude<keyof NewDelivery, 'orderKey'>,
): string => `{${deliveries.map((one) => one[column]).join(',')}}`

const hasOrder = ({ orderKey }: NewDelivery): boolean => orderKey !== null

/** Quotes the order keys, because a session's id contains any characters. */
const orderKeysOf = (deliveries: readonly NewDelivery[]): string | null =>
  deliveries.some(hasOrder) ? `{${deliveries.map(quotedOrderKey).join(',')}}` : null

const quotedOrderKey = ({ orderKey }: NewDelivery): string =>
  orderKey === null ? 'NULL' : quoted(orderKey)
