import type { Instant } from '@org/agent-messaging-core'
import {
  assignments,
  MESSAGE_STATE,
  messageStateColumns,
  type AgentState,
  type MessageStateColumns,
  type RecoveryTask,
} from '@org/agent-messaging-core/storage'
import { atMost, type Dialect } from './dialect.js'
import { all, one, run, sql, type Operation } from './operation.js'
import { lockSessionsOf, moveToEnd } from './sessions.js'

// The messages that a recovery retries.

type Seq = { readonly seq: number }
type Queued = Seq & { readonly sessionSeq: number }
/** `@recoverySeq` is null if no recovery retries the message. */
type Requeued = Seq &
  MessageStateColumns & { readonly position: number; readonly recoverySeq: number | null }
/** A message as it was before it left its recovery. */
export type Leaver = {
  readonly recoverySeq: number | null
  readonly state: string
  readonly finishedAt: number | null
}
type Search = {
  readonly projectId: string
  readonly agentId: string
  readonly recoverySeq: number
  readonly errorCode: string | null
  readonly createdAfter: Instant
  readonly createdBefore: Instant
}

export const agentOf = sql<
  { readonly agentId: string; readonly projectId: string },
  { readonly state: AgentState['kind']; readonly maxQueued: number }
>(
  // Keeps the agent from being deleted before the commit. Other changes of the agent can happen.
  ({ schema, lock }) => `
    select state, max_queued as "maxQueued" from ${schema}agents
    where id = @agentId and project_id = @projectId ${lock('key share')}`,
)
const requeued = sql<Requeued>(
  ({ schema }) => `
    update ${schema}messages set position = @position, attempt = 0, inputs = null,
      recovery_seq = @recoverySeq, ${assignments(MESSAGE_STATE)}
    where seq = @seq`,
)
/** A failed message of the search that neither this recovery nor a newer one has retried. */
const isLeft = (message: string, d: Dialect): string => `
  ${message}.state = 'failed' and coalesce(${message}.recovery_seq, 0) < @recoverySeq
  and ${message}.created_at >= @createdAfter and ${message}.created_at < @createdBefore
  and (cast(@errorCode as text) is null or ${d.json(`${message}.error`, 'code')} = @errorCode)`
const failed = (d: Dialect): string => {
  const [source] = d.unanswered('@agentId', 'failed')
  return `
    from ${source?.table} m join ${d.schema}sessions s on s.seq = m.session_seq
      join ${d.schema}agents a on a.id = s.agent_id
    where ${source?.condition} and m.agent_id = @agentId and ${isLeft('m', d)}
      and ${d.plain('a.project_id')} = @projectId`
}
/** `left` is the first message that the pages up to `after` left out. */
type Place = { readonly after: number; readonly left: number }
/** Leaves out sessions without room, and sessions of which an older message was left out. */
export const failedMessages = sql<
  Search & Place & { readonly limit: number },
  Seq & { readonly id: string }
>(
  (d) => `
    select m.id, m.seq ${failed(d)} and m.seq > @after and s.open_count <= a.max_queued
      and (cast(@left as bigint) > @after or not exists (
        select 1 from ${d.schema}messages older
        where older.session_seq = m.session_seq and older.seq between @left and @after
          and ${isLeft('older', d)}))
    order by m.seq ${atMost('@limit')}`,
)
const firstFailed = sql<Search & { readonly after: number; readonly last: number }, Seq>(
  (d) => `
    select m.seq ${failed(d)} and m.seq > @after and m.seq <= @last order by m.seq limit 1`,
)
const stillFailed = sql<{ readonly ids: readonly string[] }, Queued>(
  ({ schema, oneOf }) => `
    select m.seq, m.session_seq as "sessionSeq"
    from ${schema}messages m join ${schema}sessions s on s.seq = m.session_seq
      join ${schema}agents a on a.id = s.agent_id
    where ${oneOf('m.id', 'ids')} and m.state = 'failed'`,
)
const leave = sql<{ readonly leavers: string }>(
  ({ schema, join, records }) => `
    insert into ${schema}recovery_leavers (recovery_seq, state, finished_at)
    select l.seq, case l.state when 'responded' then 'delivered' when 'failed' then 'exhausted'
      else 'cancelled' end, l.finished_at
    from ${records('leavers', { seq: 'bigint', state: 'text', finished_at: 'bigint' })} l
      ${join} ${schema}recoveries r on r.seq = l.seq where r.delivered is null`,
)

/** The columns that a deletion of messages returns for `leaveMessages`. */
export const LEAVING = 'recovery_seq as "recoverySeq", state, finished_at as "finishedAt"'
const leaver = sql<Seq, Leaver>(
  ({ schema }) => `select ${LEAVING} from ${schema}messages where seq = @seq`,
)

/** Lets recoveries keep the counts of messages that leave them. */
export function* leaveMessages(messages: readonly Leaver[]): Operation<void> {
  const left = messages.filter(({ recoverySeq }) => recoverySeq !== null)
  if (left.length === 0) return
  const leavers = left.map(({ recoverySeq, state, finishedAt }) => {
    return { seq: recoverySeq, state, finished_at: finishedAt }
  })
  yield* run(leave, { leavers: JSON.stringify(leavers) })
}

/** Retries a message whose session is locked. Returns undefined if the session is full. */
export function* requeue(
  { seq, sessionSeq }: Queued,
  now: Instant,
  maxQueued: number,
  recoverySeq: number | null = null,
): Operation<number | undefined> {
  const position = yield* moveToEnd(sessionSeq, now, maxQueued)
  if (position === undefined) return undefined
  yield* leaveMessages(yield* all(leaver, { seq }))
  const state = messageStateColumns({ kind: 'queued', notBefore: now })
  yield* run(requeued, { ...state, seq, position, recoverySeq })
  return position
}

/** Messages per commit: 8 ms of SQLite's time. Other writes run between two commits. */
const PAGE = 50
const EVERY = Number.MAX_SAFE_INTEGER

/** The progress after a page. `waits`: the agent does not run, or the sessions have no room. */
export type RetriedPage = Pick<RecoveryTask, 'state' | 'matched' | 'redelivered' | 'cursor'> & {
  readonly waits?: true
}

/**
 * Retries the next page, the oldest message first. A message whose session is full is found again
 * from the beginning, and the later ones of its session with it, so that each session keeps its order.
 */
export function* retryPage(
  { projectId, filter, state, matched, redelivered, cursor }: RecoveryTask,
  recoverySeq: number,
  { limit, now }: { readonly limit: number; readonly now: Instant },
): Operation<RetriedPage> {
  const { agentId = '', errorCode = null, createdAfter = 0, createdBefore } = filter
  const search = { projectId, agentId, recoverySeq, errorCode, createdAfter, createdBefore }
  const counts = { matched, redelivered }
  const [after = 0, left = EVERY] = (cursor ?? '0').split(' ').map(Number)
  const agent = yield* one(agentOf, search)
  if (!agent)
    return { ...counts, state: { kind: 'failed', finishedAt: now, reason: 'agent_deleted' } }
  const page =
    agent.state === 'running'
      ? yield* all(failedMessages, {
          ...search,
          after,
          left,
          limit: Math.min(limit, PAGE),
        })
      : []
  const last = page.at(-1)
  if (!last)
    return (yield* one(firstFailed, { ...search, after: 0, last: EVERY }))
      ? { ...counts, state, waits: true }
      : { ...counts, state: { kind: 'sending' } }
  const ids = page.map(({ id }) => id)
  yield* lockSessionsOf(...ids)
  let retried = 0
  const messages = yield* all(stillFailed, { ids })
  for (const message of messages.toSorted((a, b) => a.seq - b.seq))
    if ((yield* requeue(message, now, agent.maxQueued, recoverySeq)) !== undefined) retried++
  const first = yield* one(firstFailed, { ...search, after, last: last.seq })
  const firstLeft = Math.min(left, first?.seq ?? EVERY)
  return {
    state,
    matched: matched + retried,
    redelivered: redelivered + retried,
    cursor: firstLeft === EVERY ? String(last.seq) : `${last.seq} ${firstLeft}`,
  }
}

/** The retried messages that count for a recovery `r`. */
const counted = ({ schema }: Dialect): string =>
  `from ${schema}messages m where m.recovery_seq = r.seq`
const OPEN = "m.state not in ('responded', 'failed', 'cancelled')"
const FAILING = "(m.attempt > 1 or m.attempt = 1 and m.state = 'queued') and m.inputs is null"

/** The counts of `countedAs`, for a recovery `r`. */
export const retriedCounts = (d: Dialect) => {
  const count = (which: string) => `(select count(*) ${counted(d)} and ${which})`
  return {
    waiting: count(`${OPEN} and not (${FAILING})`),
    failing: count(`${OPEN} and ${FAILING}`),
    delivered: count("m.state = 'responded'"),
    exhausted: count("m.state = 'failed'"),
    cancelled: count("m.state = 'cancelled'"),
    anOpen: `exists (select 1 ${counted(d)} and ${OPEN})`,
    lastEndAt: `(select max(m.finished_at) ${counted(d)})`,
  }
}
