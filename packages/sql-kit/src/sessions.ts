import type { Instant } from '@org/agent-messaging-core'
import { one, run, sql, type Operation } from './operation.js'

// A session's row is the queue of its messages and their lock.
//
// - `head_position` is the position of the next message.
// - `due_at` is the time when a process can claim that message: now, after a backoff, when the
//   lease of a dead process ends, or when a callback is overdue.
// - `lease` counts the claims. The count of a late writer is too low.
//
// An operation that changes a message locks the message's session first and then reads, so nothing
// it reads can change before the commit. Several sessions are locked in the order of agent id and
// session id, or without waiting.

type Session = { readonly sessionSeq: number }

const lock = sql<{ readonly messageIds: readonly string[] }>(
  (d) => `
    select 1 from ${d.schema}sessions where seq in (
      select session_seq from ${d.schema}messages where ${d.oneOf('id', 'messageIds')})
    ${d.lock('update', 'agent_id, session_id')}`,
)
/** Behind the head all open messages are queued. Skips cancelled and moved messages. */
const advanceHead = sql<Session & { readonly now: Instant }, { readonly waits: boolean | number }>(
  ({ schema }) => `
    update ${schema}sessions as s set open_count = open_count - 1,
      due_at = case when open_count > 1 then cast(@now as bigint) end,
      head_position = case when open_count > 1 then (
        select position from ${schema}messages m
        where m.session_seq = s.seq and m.position > s.head_position and m.state = 'queued'
        order by m.position limit 1) else last_position + 1 end
    where seq = @sessionSeq returning due_at is not null as waits`,
)
const skipOne = sql<Session>(
  ({ schema }) =>
    `update ${schema}sessions set open_count = open_count - 1 where seq = @sessionSeq`,
)
const hold = sql<Session & { readonly until: Instant }>(
  ({ schema }) => `update ${schema}sessions set due_at = @until where seq = @sessionSeq`,
)
const append = sql<
  Session & { readonly now: Instant; readonly maxQueued: number },
  { readonly position: number }
>(
  ({ schema }) => `
    update ${schema}sessions set last_position = last_position + 1, open_count = open_count + 1,
      due_at = coalesce(due_at, @now)
    where seq = @sessionSeq and open_count <= @maxQueued returning last_position as position`,
)

/** Locks the sessions of these messages until the commit. */
export const lockSessionsOf = (...messageIds: readonly string[]): Operation<number> =>
  run(lock, { messageIds })

/** Moves to the next message after the head became final. Returns whether there is one. */
export function* advance(sessionSeq: number, now: Instant): Operation<boolean> {
  return Boolean((yield* one(advanceHead, { sessionSeq, now }))?.waits)
}

/** Counts a message behind the head that became final. Returns true: the head is still open. */
export function* skip(sessionSeq: number): Operation<true> {
  yield* run(skipOne, { sessionSeq })
  return true
}

/** Keeps other processes from claiming the head until then. The token stays valid. */
export const holdUntil = (sessionSeq: number, until: Instant): Operation<number> =>
  run(hold, { sessionSeq, until })

/** Moves a final message to the end. Returns its position, or undefined if the session is full. */
export function* moveToEnd(
  sessionSeq: number,
  now: Instant,
  maxQueued: number,
): Operation<number | undefined> {
  return (yield* one(append, { sessionSeq, now, maxQueued }))?.position
}
