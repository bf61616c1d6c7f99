import type { Instant } from '@org/agent-messaging-core'
import {
  endUserMark,
  type ErasedMessages,
  type MessageErasure,
  type MessageStore,
  type Purge,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { removedList, removeDeliveries, type RemovedDelivery } from './delivery-removals.js'
import { atMost } from './dialect.js'
import { eraseSession, sweepErasures } from './erasures.js'
import { removeReceiver } from './hooks.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { LEAVING, leaveMessages, type Leaver } from './retried-messages.js'
import { advance, lockSessionsOf, skip } from './sessions.js'

type Seq = { readonly seq: number }
type Seqs = { readonly seqs: readonly number[] }
type Marked = MessageErasure & { readonly last: number; readonly mark: string }
type PrincipalMessage = Seq & {
  readonly sessionSeq: number
  readonly position: number
  readonly headPosition: number
  readonly isOpen: boolean | number
}

/** The oldest messages that can be final. Skips locked sessions until the next purge. */
export const finishedMessages = sql<Purge, Seq & { readonly sessionSeq: number }>(
  ({ schema, join, lock }) => `
    select m.seq, s.seq as "sessionSeq"
    from ${schema}messages m ${join} ${schema}sessions s on s.seq = m.session_seq
    where m.open_until < @finishedBefore
    order by m.open_until ${atMost('@limit')} ${lock('update of s skip locked')}`,
)
/** A retry can have changed a final message before the session lock. */
const removeFinished = sql<Seqs & Pick<Purge, 'finishedBefore'>, Leaver>(
  ({ schema, oneOf }) => `
    delete from ${schema}messages
    where ${oneOf('seq', 'seqs', 'bigint')} and finished_at < @finishedBefore returning ${LEAVING}`,
)
/** Puts off the other messages, so that the next purges do not look at them again. */
const putOff = sql<Seqs & { readonly now: Instant }>(
  ({ schema, oneOf }) => `
    update ${schema}messages set open_until = coalesce(finished_at, @now)
    where ${oneOf('seq', 'seqs', 'bigint')}`,
)
const removeEmpty = sql<Seqs>(
  ({ schema, oneOf }) => `
    delete from ${schema}sessions as s where ${oneOf('seq', 'seqs', 'bigint')} and due_at is null
      and not exists (select 1 from ${schema}messages m where m.session_seq = s.seq)`,
)
/** Finds the newest message of sessions again whose newest message was deleted. */
const renewLast = sql<Seqs>(
  ({ schema, oneOf }) => `
    update ${schema}sessions as s set (last_message_id, last_message_at) =
      (select max(id), max(created_at) from ${schema}messages m where m.session_seq = s.seq)
    where ${oneOf('seq', 'seqs', 'bigint')}
      and not exists (select 1 from ${schema}messages m where m.id = s.last_message_id)`,
)
/** The state can quote the erased messages. */
const forgetState = sql<Seqs>(
  ({ schema, oneOf }) =>
    `update ${schema}sessions set state = null where ${oneOf('seq', 'seqs', 'bigint')}`,
)

const lastRead = sql<MessageErasure, Seq>(
  ({ schema }) => `
    select seq from ${schema}messages where agent_id = @agentId and seq > @after
    order by seq limit 1 offset @limit - 1`,
)
/** Ignores messages that wait for the sweep. */
export const principalMessages = sql<Marked, { readonly id: string }>(
  ({ schema, plain, contains }) => `
    select m.id
    from ${schema}messages m join ${schema}sessions s on s.seq = m.session_seq
      join ${schema}agents a on a.id = s.agent_id
    where m.agent_id = @agentId and m.seq > @after and m.seq <= @last
      and ${plain('a.project_id')} = @projectId and ${contains('m.principal', 'mark')}`,
)
const byIds = sql<{ readonly ids: readonly string[] }, PrincipalMessage>(
  ({ schema, oneOf }) => `
    select m.seq, m.session_seq as "sessionSeq", m.position, s.head_position as "headPosition",
      m.finished_at is null as "isOpen"
    from ${schema}messages m join ${schema}sessions s on s.seq = m.session_seq
      join ${schema}agents a on a.id = s.agent_id
    where ${oneOf('m.id', 'ids')}`,
)
/** A step locks all its sessions at once, and must not hold them while it waits for one of them. */
const waitShortly = sql(({ onServer }) => onServer("set local lock_timeout = '1s'"))
const remove = sql<Seq, Leaver>(
  ({ schema }) => `delete from ${schema}messages where seq = @seq returning ${LEAVING}`,
)

const endedHook = sql<object, Seq>(
  ({ schema, is, lock }) => `
    select seq from ${schema}webhooks where ${is('is_deleted')} and message_id is not null
    order by seq limit 1 ${lock('update skip locked')}`,
)
const deliveriesOfHook = sql<Seq & { readonly limit: number }, RemovedDelivery>(
  ({ schema, lock }) => `
    select ${removedList} from ${schema}deliveries d where d.webhook_seq = @seq
    order by d.seq desc ${atMost('@limit')} ${lock('update')}`,
)
const removeHook = sql<Seq, { readonly receiver: string }>(
  ({ schema }) => `delete from ${schema}webhooks where seq = @seq returning receiver`,
)

function* eraseMessage(
  { seq, sessionSeq, position, headPosition, isOpen }: PrincipalMessage,
  now: Instant,
): Operation<void> {
  yield* leaveMessages(yield* all(remove, { seq }))
  if (isOpen) yield* position === headPosition ? advance(sessionSeq, now) : skip(sessionSeq)
}

/** `MessageStore.erasePrincipal`. Can run again if it did not get its locks. */
export function* erasePrincipalMessages(step: MessageErasure): Operation<ErasedMessages> {
  const next = (yield* one(lastRead, step))?.seq
  const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
  const ids = (yield* all(principalMessages, { ...step, ...bounds })).map(({ id }) => id)
  if (!step.countOnly) {
    yield* run(waitShortly, {})
    yield* lockSessionsOf(...ids)
  }
  const rows = yield* all(byIds, { ids })
  const erased = step.force ? rows : rows.filter(({ isOpen }) => !isOpen)
  if (!step.countOnly && erased.length > 0) {
    // From the last message to the head, so that no message becomes head that is erased next.
    for (const row of erased.toSorted((a, b) => b.position - a.position))
      yield* eraseMessage(row, step.now)
    const sessions = { seqs: [...new Set(erased.map(({ sessionSeq }) => sessionSeq))] }
    yield* run(removeEmpty, sessions)
    yield* run(forgetState, sessions)
    yield* run(renewLast, sessions)
    yield* record(step.audit)
  }
  return {
    messages: erased.length,
    openMessages: rows.length - erased.length,
    next,
  }
}

/**
 * Deletes up to `limit` rows of deleted hooks and their deliveries, and then receivers without hooks.
 * Returns their number.
 */
function* sweepHooks(limit: number): Operation<number> {
  let removed = 0
  while (removed < limit) {
    const hook = yield* one(endedHook, {})
    if (!hook) break
    const deliveries = yield* all(deliveriesOfHook, { ...hook, limit: limit - removed })
    // The log keeps the events.
    yield* removeDeliveries(deliveries, 0)
    removed += deliveries.length
    const ended = removed < limit ? yield* one(removeHook, hook) : undefined
    if (ended) removed += 1 + (yield* removeReceiver(ended.receiver))
  }
  return removed
}

type Removals = 'erase' | 'purge' | 'sweep'

export const messageRemovals = ({ write }: Runner): Pick<MessageStore, Removals> => ({
  erase: write(eraseSession),
  purge: write(function* (purge) {
    const rows = yield* all(finishedMessages, purge)
    const seqs = rows.map(({ seq }) => seq)
    const left = yield* all(removeFinished, { ...purge, seqs })
    yield* leaveMessages(left)
    const removed = left.length
    if (removed < rows.length) yield* run(putOff, { ...purge, seqs })
    const sessions = { seqs: rows.map(({ sessionSeq }) => sessionSeq) }
    yield* run(removeEmpty, sessions)
    yield* run(renewLast, sessions)
    return { removed, looked: rows.length }
  }),
  sweep: write(function* (step) {
    return (yield* sweepErasures(step)) + (yield* sweepHooks(step.limit))
  }),
})
