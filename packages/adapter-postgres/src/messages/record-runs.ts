import {
  type MessageFacts,
  messageOf,
  messageStateColumns,
  NO_CLAIMS,
  partsRow,
  pastRunRow,
  type RecordedRun,
  type RunRecord,
  traceColumn,
} from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { jsonRows, withoutNulls } from '../database/sql.js'
import { type FanOut, fanOutTo, notWaiting } from '../events/fan-out.js'
import {
  askedFor,
  type Hooks,
  type KnownHooks,
  type KnownReceivers,
  readAndKeep,
  readHooks,
  type Receivers,
  topicsOf,
} from '../webhooks/receivers.js'
import { countingCall } from './counts.js'

type Settled = MessageFacts & {
  /** Null in a row that has only `waiting`. */
  readonly place: number | null
  readonly sessionWaits: boolean
  /** The ids of deliveries that wait in their order. */
  readonly waiting: readonly string[] | null
}

type SettleParameters = { readonly runs: string; readonly topics: string }

const SETTLE = ['select * from agent_messaging.settle_runs(@runs, @topics)', 'r.place > 0'] as const
const settleCall = countingCall<SettleParameters, Settled>(...SETTLE)
type Kept = { readonly ended: string; readonly answered: string }
/** Also stores the runs that ended without an answer, and the parts of answers. */
const settleAndKeep = countingCall<SettleParameters & Kept, Settled>(
  ...SETTLE,
  `kept as (
    insert into agent_messaging.past_runs
      (message_id, attempt, started_at, ended_at, reason, error, usage)
    select r.id, e.attempt, e."startedAt", e."endedAt", e.reason, e.error, e.usage
    from jsonb_to_recordset(@ended::jsonb) as e (place bigint, attempt integer, "startedAt" bigint,
        "endedAt" bigint, reason text, error text, usage text)
      join result r on r.place = e.place),
  answered as (
    insert into agent_messaging.message_parts (message_id, parts, is_truncated)
    select r.id, p.parts, p."isTruncated"
    from jsonb_to_recordset(@answered::jsonb) as p (place bigint, parts text,
        "isTruncated" smallint)
      join result r on r.place = p.place)`,
)

/** The place of the only row if a webhook or a hook has changed. Then nothing is written. */
const CHANGED = { 0: 'webhooks changed', [-1]: 'hooks changed' } as const
type Changed = (typeof CHANGED)[keyof typeof CHANGED]
/** A hook must change this often during one batch to make the batch fail. */
const MOST_TRIES = 10

/**
 * `MessageStore.recordRun` for a batch of different messages. Uses the known webhooks if the
 * statement finds them unchanged, which saves a round trip. Otherwise reads the webhooks first.
 * Reads hooks only after the statement has found other ones than the known hooks, or that a receiver
 * of theirs fails since.
 */
export async function recordRuns(
  db: Queries,
  runs: readonly RunRecord[],
  known: KnownReceivers,
  knownHooks: KnownHooks,
): Promise<RecordedRun[]> {
  const topics = topicsOf(runs.map(({ outgoing }) => outgoing))
  const found = known.find(topics)
  let receivers = found ?? (await readAndKeep(db, topics, known))
  let mustMatch = found !== undefined
  const messageIds = runs.map(({ messageId }) => messageId)
  let hooks = knownHooks.take(messageIds)
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const settled = await settle(db, runs, { receivers, mustMatch, hooks })
    if (typeof settled !== 'string') return settled
    if (settled === 'webhooks changed') {
      receivers = await readAndKeep(db, topics, known)
      mustMatch = false
    } else hooks = await readHooks(db, messageIds)
  }
  throw new Error('hooks of a message changed too often')
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
  const parameters = {
    runs: jsonRows(runs.map((run, at) => rowOf(run, fannedOut[at] ?? NO_EVENTS, hooks))),
    topics: jsonRows(topics.map((topic) => ({ ...askedFor(topic), version: topic.version }))),
  }
  const ended = runs.flatMap((run, at) =>
    run.ended ? [{ place: at + 1, ...pastRunRow(run.messageId, run.ended) }] : [],
  )
  const answered = runs.flatMap(({ messageId, parts }, at) =>
    parts ? [{ place: at + 1, ...partsRow(messageId, parts) }] : [],
  )
  const kept = { ended: jsonRows(ended), answered: jsonRows(answered) }
  const rows = await (ended.length === 0 && answered.length === 0
    ? settleCall(db, parameters, runs)
    : settleAndKeep(db, { ...parameters, ...kept }, runs))
  const place = rows[0]?.place
  if (place === 0 || place === -1) return CHANGED[place]
  const waiting = new Set(rows.at(-1)?.waiting)
  const settled = new Map(rows.map((row) => [row.place, row]))
  return runs.map(({ state }, at) => {
    const row = settled.get(at + 1)
    if (!row) return { kind: 'lease_lost' }
    return {
      kind: 'recorded',
      message: messageOf(row, state),
      ...notWaiting(fannedOut[at]?.claims ?? NO_CLAIMS, waiting),
      sessionWaits: row.sessionWaits,
    }
  })
}

const NO_EVENTS: FanOut = { events: [], claims: NO_CLAIMS }

const rowOf = ({ messageId, token, now, state }: RunRecord, { events }: FanOut, hooks: Hooks) => ({
  messageId,
  token,
  now,
  ...withoutNulls(messageStateColumns(state)),
  hookVersion: hooks.get(messageId)?.version,
  healthySeq: hooks.get(messageId)?.healthySeq,
  events: events.map(({ event, deliveries }) => ({
    id: event.id,
    name: event.name,
    body: event.body,
    trace: traceColumn(event.trace) ?? undefined,
    createdAt: event.createdAt,
    deliveries,
  })),
})
