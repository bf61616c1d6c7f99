import {
  messageOf,
  messageStateColumns,
  traceColumn,
  type MessageFacts,
  type RecordedRun,
  type RunRecord,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { fanOutTo, notWaiting, type FanOut, type NewDelivery } from './fan-out.js'
import { readReceivers, topicsOf, type KnownReceivers, type Receivers } from './receivers.js'
import { call } from './sql.js'

type Settled = MessageFacts & {
  readonly place: number
  readonly sessionWaits: boolean
  /** The ids of deliveries that wait in their order. Null if none has an order. */
  readonly waiting: readonly string[] | null
}

type TopicColumns = {
  readonly [C in 'topicProjects' | 'topicNames' | 'topicVersions']: readonly string[]
}

const settleSql = call<ReturnType<typeof columnsOf> & TopicColumns, Settled>(`
  select * from agent_messaging.settle_runs(@messageIds, @tokens, @states, @notBefores,
    @finishedAts, @responseTimes, @responses, @errors, @nows, @eventRuns, @eventIds,
    @eventMessages, @eventSessions, @eventNames, @bodies, @traces, @toldAts, @projectIds,
    @deliveryIds, @webhookSeqs, @dueAts, @leases, @orderKeys, @topicProjects, @topicNames,
    @topicVersions)`)

/** The only row, at this place, if the webhooks have changed. Then the function changes nothing. */
const OUTDATED = 0

/**
 * `MessageStore.recordRun` for a batch of different messages. Uses the known webhooks if the
 * statement finds them unchanged, which saves a round trip. Otherwise reads the webhooks first.
 */
export async function recordRuns(
  db: Queries,
  runs: readonly RunRecord[],
  known: KnownReceivers,
): Promise<RecordedRun[]> {
  const topics = topicsOf(runs.map(({ outgoing }) => outgoing))
  const receivers = known.find(topics)
  const recorded = receivers && (await settle(db, runs, receivers, true))
  if (recorded) return recorded
  const fresh = await readReceivers(db, topics)
  known.keep(fresh)
  return (await settle(db, runs, fresh, false)) ?? []
}

/** Returns undefined, and changes nothing, if a webhook has changed and `mustMatch` is true. */
async function settle(
  db: Queries,
  runs: readonly RunRecord[],
  receivers: Receivers,
  mustMatch: boolean,
): Promise<RecordedRun[] | undefined> {
  const fannedOut = runs.map(({ outgoing }) =>
    outgoing ? fanOutTo(outgoing, receivers) : NO_EVENTS,
  )
  const topics = mustMatch ? [...receivers.values()] : []
  const rows = await db.all(settleSql, {
    ...columnsOf(runs, fannedOut),
    topicProjects: topics.map(({ projectId }) => projectId),
    topicNames: topics.map(({ name }) => name),
    topicVersions: topics.map(({ version }) => version),
  })
  if (rows[0]?.place === OUTDATED) return undefined
  const settled = new Map(rows.map((row) => [row.place - 1, row]))
  return runs.map(({ state }, at) => {
    const row = settled.get(at)
    if (!row) return { kind: 'lease_lost' }
    return {
      kind: 'recorded',
      message: messageOf(row, state),
      deliveries: notWaiting(fannedOut[at]?.claimed ?? [], row.waiting ?? []),
      sessionWaits: row.sessionWaits,
    }
  })
}

const NO_EVENTS: FanOut = { events: [], claimed: [] }

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
  orderKey === null ? 'NULL' : `"${orderKey.replaceAll(/["\\]/g, String.raw`\$&`)}"`
