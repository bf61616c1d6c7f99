import type { Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

// The session's row is the queue and the lock of all in it. Only this file writes one, and the functions that accept messages, claim
// them and record their runs. `head_position` says
// which message is next and `due_at` when somebody may claim it: at once, after a backoff, when its lease ends if its
// holder died, or when its callback is overdue. `lease` counts the claims: a late writer's count is too low.
//
// Whatever changes a message locks its session's row first, and then reads: so each decision is made on what nobody else can
// change until it is committed. Where several sessions are locked it is by agent and session id, as accepts do, or without waiting.

/** Where a message came to stand. `isHead`: nothing is ahead of it. */
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
  insert into agent_messaging.sessions as s
    (agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
  values (@agentId, @sessionId, 1, 1, 1, coalesce(@claimUntil::bigint, @now::bigint), (@claimUntil::bigint is not null)::int, @messageId, @createdAt)
  on conflict (agent_id, session_id) do update set
    last_position = s.last_position + 1,
    open_count = s.open_count + 1,
    due_at = coalesce(s.due_at, excluded.due_at),
    lease = s.lease + case when s.due_at is null then excluded.lease else 0 end,
    last_message_id = greatest(s.last_message_id, excluded.last_message_id),
    last_message_at = greatest(s.last_message_at, excluded.last_message_at)
    where s.open_count <= @maxQueued
  returning seq as "sessionSeq", last_position as position, lease, state as "sessionState", head_position = last_position as "isHead"`)

/** The next place in the session, under a lease if `claimUntil` is given and it is the head's; undefined when the session is full. */
export const enqueue = (db: Queries, session: Enqueue): Promise<Place | undefined> =>
  db.one(enqueueSql, session)

const lockSql = sql<{ readonly messageIds: readonly string[] }>(`
  select 1 from agent_messaging.sessions
  where seq in (select session_seq from agent_messaging.messages where id = any(@messageIds::text[]))
  order by agent_id, session_id for update`)

/** Locks the sessions of these messages: what is read of them from now on stays so until the commit. */
export const lockSessionsOf = (db: Queries, ...messageIds: readonly string[]): Promise<number> =>
  db.run(lockSql, { messageIds })

const holdSql = sql<Session & { readonly until: Instant }>(
  'update agent_messaging.sessions set due_at = @until where seq = @sessionSeq',
)

/** Nobody else may claim the head until then. The token stays as it is. */
export const holdUntil = (db: Queries, sessionSeq: number, until: Instant): Promise<number> =>
  db.run(holdSql, { sessionSeq, until })

/** Steps over the messages that were cancelled, or retried and so moved. Behind the head all open ones are queued. */
const nextOpenSql = `
  select position from agent_messaging.messages m
  where m.session_seq = s.seq and m.position > s.head_position and m.state = 'queued' order by m.position limit 1`

const advanceSql = sql<Session & { readonly now: Instant }, { readonly waits: boolean }>(`
  update agent_messaging.sessions s set open_count = open_count - 1, due_at = case when open_count > 1 then @now::bigint end,
    head_position = case when open_count > 1 then (${nextOpenSql}) else last_position + 1 end
  where seq = @sessionSeq returning due_at is not null as waits`)

/** The head is final: the next one may be claimed from now on. Gives whether there is a next one. */
export const advance = async (db: Queries, sessionSeq: number, now: Instant): Promise<boolean> =>
  (await db.one(advanceSql, { sessionSeq, now }))?.waits === true

const forgoSql = sql<Session>(
  'update agent_messaging.sessions set open_count = open_count - 1 where seq = @sessionSeq',
)

/** A message behind the head is final before its turn. Gives whether others are open, which they are. */
export async function forgo(db: Queries, sessionSeq: number): Promise<true> {
  await db.run(forgoSql, { sessionSeq })
  return true
}

const rememberSql = sql<Session & { readonly sessionState: string }>(
  'update agent_messaging.sessions set state = @sessionState where seq = @sessionSeq',
)

export const remember = (db: Queries, sessionSeq: number, sessionState: string): Promise<number> =>
  db.run(rememberSql, { sessionSeq, sessionState })

const openSql = sql<{ readonly agentId: string }>(
  'select 1 from agent_messaging.sessions where agent_id = @agentId and due_at is not null limit 1',
)

export const hasOpen = async (db: Queries, agentId: string): Promise<boolean> =>
  (await db.one(openSql, { agentId })) !== undefined

const findSql = sql<
  { readonly agentId: string; readonly sessionId: string },
  { readonly seq: number; readonly openCount: number }
>(`
  select seq, open_count as "openCount" from agent_messaging.sessions
  where agent_id = @agentId and session_id = @sessionId for update`)

/** Locks the session, if there is one; gives how many of its messages are open. */
export const lockSession = (db: Queries, agentId: string, sessionId: string) =>
  db.one(findSql, { agentId, sessionId })

const removeEmptySql = sql<Session>(`
  delete from agent_messaging.sessions s where seq = @sessionSeq
    and not exists (select 1 from agent_messaging.messages m where m.session_seq = s.seq)`)
const forgetStateSql = sql<Session>(
  'update agent_messaging.sessions set state = null where seq = @sessionSeq',
)
const renewLastSql = sql<{ readonly seqs: readonly number[] }>(`
  update agent_messaging.sessions s set (last_message_id, last_message_at) =
    (select max(id), max(created_at) from agent_messaging.messages m where m.session_seq = s.seq)
  where seq = any(@seqs::bigint[]) and not exists (select 1 from agent_messaging.messages m where m.id = s.last_message_id)`)

/** Of sessions that have messages, within a transaction that has locked them: names the newest one, where the one that it was is gone. */
export const renewLast = (db: Queries, seqs: readonly number[]): Promise<number> =>
  db.run(renewLastSql, { seqs })

/** Of somebody in it nothing is kept any more, nor what was remembered, which may be of them. A session without messages is gone. */
export async function forget(db: Queries, sessionSeq: number): Promise<void> {
  if ((await db.run(removeEmptySql, { sessionSeq })) > 0) return
  await db.run(forgetStateSql, { sessionSeq })
  await renewLast(db, [sessionSeq])
}

const disownSql = sql<Session & { readonly owner: string }>(
  'update agent_messaging.sessions set agent_id = @owner, due_at = null where seq = @sessionSeq',
)

/** Hands the session over to an owner that is no agent; whoever comes under its old name begins a new one. Gives that owner. */
export async function disown(db: Queries, sessionSeq: number): Promise<string> {
  const owner = `erased session ${sessionSeq}`
  await db.run(disownSql, { sessionSeq, owner })
  return owner
}
