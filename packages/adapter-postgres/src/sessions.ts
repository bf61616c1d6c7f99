import type { Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

// A session's row is the queue of its messages and their lock. Only this file and the functions
// that accept, claim and settle write a session.
//
// - `head_position` is the position of the next message.
// - `due_at` is the time when a process can claim that message: now, after a backoff, when the
//   lease of a dead process ends, or when a callback is overdue.
// - `lease` counts the claims. The count of a late writer is too low.
//
// A transaction that changes a message locks the message's session first and then reads, so nothing
// it reads can change before the commit. Several sessions are locked in the order of agent id and
// session id, or without waiting.

/** The place of a message in its session. The head has no open message ahead. */
export type Place = {
  readonly sessionSeq: number
  readonly position: number
  readonly lease: number
  readonly sessionState: string | null
  readonly isHead: boolean
}

type Enqueue = {
  readonly agentId: string
  readonly sessionId: string
  readonly messageId: string
  readonly createdAt: Instant
  readonly now: Instant
  readonly claimUntil: Instant | null
  readonly maxQueued: number
}

type Session = { readonly sessionSeq: number }

const enqueueSql = sql<Enqueue, Place>(`
  insert into agent_messaging.sessions as s (agent_id, session_id, last_position, head_position,
    open_count, due_at, lease, last_message_id, last_message_at)
  values (@agentId, @sessionId, 1, 1, 1, coalesce(@claimUntil::bigint, @now::bigint),
    (@claimUntil::bigint is not null)::int, @messageId, @createdAt)
  on conflict (agent_id, session_id) do update set
    last_position = s.last_position + 1,
    open_count = s.open_count + 1,
    due_at = coalesce(s.due_at, excluded.due_at),
    lease = s.lease + case when s.due_at is null then excluded.lease else 0 end,
    last_message_id = greatest(s.last_message_id, excluded.last_message_id),
    last_message_at = greatest(s.last_message_at, excluded.last_message_at)
    where s.open_count <= @maxQueued
  returning seq as "sessionSeq", last_position as position, lease, state as "sessionState",
    head_position = last_position as "isHead"`)

/**
 * Takes the next place in the session. A head is claimed if `claimUntil` is given. Returns
 * undefined if the session is full.
 */
export const enqueue = (db: Queries, session: Enqueue): Promise<Place | undefined> =>
  db.one(enqueueSql, session)

const lockSql = sql<{ readonly messageIds: readonly string[] }>(`
  select 1 from agent_messaging.sessions
  where seq in (select session_seq from agent_messaging.messages where id = any(@messageIds::text[]))
  order by agent_id, session_id for update`)

/** Locks the sessions of these messages until the commit. */
export const lockSessionsOf = (db: Queries, ...messageIds: readonly string[]): Promise<number> =>
  db.run(lockSql, { messageIds })

const holdSql = sql<Session & { readonly until: Instant }>(
  'update agent_messaging.sessions set due_at = @until where seq = @sessionSeq',
)

/** Keeps other processes from claiming the head until then. The token stays valid. */
export const holdUntil = (db: Queries, sessionSeq: number, until: Instant): Promise<number> =>
  db.run(holdSql, { sessionSeq, until })

/** Behind the head all open messages are queued. Skips cancelled and moved messages. */
const nextOpenSql = `
  select position from agent_messaging.messages m
  where m.session_seq = s.seq and m.position > s.head_position and m.state = 'queued'
  order by m.position limit 1`

const advanceSql = sql<Session & { readonly now: Instant }, { readonly waits: boolean }>(`
  update agent_messaging.sessions s set open_count = open_count - 1,
    due_at = case when open_count > 1 then @now::bigint end,
    head_position = case when open_count > 1 then (${nextOpenSql}) else last_position + 1 end
  where seq = @sessionSeq returning due_at is not null as waits`)

/** Moves to the next message after the head became final. Returns whether there is one. */
export const advance = async (db: Queries, sessionSeq: number, now: Instant): Promise<boolean> =>
  (await db.one(advanceSql, { sessionSeq, now }))?.waits === true

const skipSql = sql<Session>(
  'update agent_messaging.sessions set open_count = open_count - 1 where seq = @sessionSeq',
)

/** Counts a message behind the head that became final. Returns true: the head is still open. */
export async function skip(db: Queries, sessionSeq: number): Promise<true> {
  await db.run(skipSql, { sessionSeq })
  return true
}

const setStateSql = sql<Session & { readonly sessionState: string }>(
  'update agent_messaging.sessions set state = @sessionState where seq = @sessionSeq',
)

export const remember = (db: Queries, sessionSeq: number, sessionState: string): Promise<number> =>
  db.run(setStateSql, { sessionSeq, sessionState })

const removeEmptySql = sql<Session>(`
  delete from agent_messaging.sessions s where seq = @sessionSeq
    and not exists (select 1 from agent_messaging.messages m where m.session_seq = s.seq)`)
const deleteStateSql = sql<Session>(
  'update agent_messaging.sessions set state = null where seq = @sessionSeq',
)
const renewLastSql = sql<{ readonly seqs: readonly number[] }>(`
  update agent_messaging.sessions s set (last_message_id, last_message_at) =
    (select max(id), max(created_at) from agent_messaging.messages m where m.session_seq = s.seq)
  where seq = any(@seqs::bigint[])
    and not exists (select 1 from agent_messaging.messages m where m.id = s.last_message_id)`)

/** Updates the newest message of locked sessions whose newest message was deleted. */
export const renewLast = (db: Queries, seqs: readonly number[]): Promise<number> =>
  db.run(renewLastSql, { seqs })

/**
 * Deletes the stored state of a session after the messages of an end user were deleted, because the
 * state can contain data of that user. Deletes a session without messages.
 */
export async function forget(db: Queries, sessionSeq: number): Promise<void> {
  if ((await db.run(removeEmptySql, { sessionSeq })) > 0) return
  await db.run(deleteStateSql, { sessionSeq })
  await renewLast(db, [sessionSeq])
}
