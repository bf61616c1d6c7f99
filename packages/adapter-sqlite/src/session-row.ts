import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core/storage'
import { atMost } from './statements.js'

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

/** On the path of every send: values by their places cost a third of values by their names. */
type EnqueueValues = [string, string, Instant, 0 | 1, string, Instant, number]
type PlaceValues = [
  sessionSeq: number,
  position: number,
  lease: number,
  sessionState: string | null,
  isHead: 0 | 1,
]

export type SessionRows = {
  /** The next place in the session, under a lease if `claimUntil` is given and it is the head's; undefined when the session is full. */
  enqueue(enqueue: Enqueue): Place | undefined
  /** Sessions of the agent whose head may be claimed, the longest due first. */
  due(agentId: string, now: Instant, limit: number): number[]
  /** A new lease on the head, which supersedes the older ones; gives its token and what the session remembers. */
  claim(
    sessionSeq: number,
    until: Instant,
  ): { readonly token: number; readonly sessionState: string | null }
  /** Nobody else may claim the head until then. The token stays as it is. */
  holdUntil(sessionSeq: number, until: Instant): void
  /** The head is final: the next one may be claimed from now on. Gives whether there is a next one. */
  advance(sessionSeq: number, now: Instant): boolean
  /** A message behind the head is final before its turn. Gives whether others are open, which they are. */
  forgo(sessionSeq: number): true
  remember(sessionSeq: number, sessionState: string): void
  hasOpen(agentId: string): boolean
  /** The session, if there is one, and how many of its messages are open. */
  find(
    agentId: string,
    sessionId: string,
  ): { readonly seq: number; readonly openCount: number } | undefined
  /** Of somebody in it nothing is kept any more, nor what was remembered, which may be of them. A session without messages is gone. */
  forget(sessionSeq: number): void
  /** Hands the session over to an owner that is no agent; whoever comes under its old name begins a new one. Gives that owner. */
  disown(sessionSeq: number): string
}

export const dueSessionsSql = `select seq from sessions where agent_id = ? and due_at <= ? order by due_at ${atMost('?')}`

/** Steps over the messages that were cancelled, or retried and so moved. Behind the head all open ones are queued. */
const nextOpenSql = `
  select position from messages
  where session_seq = sessions.seq and position > sessions.head_position and state = 'queued' order by position limit 1`

/** Of sessions that have messages: names the newest one, where the one that it was is gone. */
export const renewLastSql = (which: string): string => `
  update sessions set (last_message_id, last_message_at) =
    (select max(id), max(created_at) from messages m where m.session_seq = sessions.seq)
  where seq ${which} and not exists (select 1 from messages m where m.id = sessions.last_message_id)`

/**
 * The session's row is the queue and the lock of all in it, and this is the only place that writes one. `head_position` says
 * which message is next and `due_at` when somebody may claim it: at once, after a backoff, when its lease ends if its
 * holder died, or when its callback is overdue. `lease` counts the claims: a late writer's count is too low.
 */
export function sessionRows(db: Database): SessionRows {
  const enqueue = db
    .prepare<EnqueueValues, PlaceValues>(
      `insert into sessions (agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
       values (?, ?, 1, 1, 1, ?, ?, ?, ?)
       on conflict (agent_id, session_id) do update set
         last_position = last_position + 1,
         open_count = open_count + 1,
         due_at = coalesce(due_at, excluded.due_at),
         lease = lease + (due_at is null and excluded.lease),
         last_message_id = max(last_message_id, excluded.last_message_id),
         last_message_at = max(last_message_at, excluded.last_message_at)
         where open_count <= ?
       returning seq, last_position, lease, state, head_position = last_position`,
    )
    .raw()
  const due = db.prepare<[string, Instant, number], number>(dueSessionsSql).pluck()
  const claim = db.prepare<[Instant, number], ReturnType<SessionRows['claim']>>(
    'update sessions set due_at = ?, lease = lease + 1 where seq = ? returning lease as token, state as sessionState',
  )
  const hold = db.prepare<[Instant, number]>('update sessions set due_at = ? where seq = ?')
  const advance = db
    .prepare<[Instant, number], 0 | 1>(
      `update sessions set open_count = open_count - 1, due_at = case when open_count > 1 then ? end,
         head_position = case when open_count > 1 then (${nextOpenSql}) else last_position + 1 end
       where seq = ? returning due_at is not null`,
    )
    .pluck()
  const remember = db.prepare<[string, number]>('update sessions set state = ? where seq = ?')
  const open = db.prepare<[string]>(
    'select 1 from sessions where agent_id = ? and due_at is not null limit 1',
  )
  const forgo = db.prepare<[number]>(
    'update sessions set open_count = open_count - 1 where seq = ?',
  )
  const find = db.prepare<[string, string], { seq: number; openCount: number }>(
    'select seq, open_count as openCount from sessions where agent_id = ? and session_id = ?',
  )
  const removeEmpty = db.prepare<[number]>(
    'delete from sessions where seq = ? and not exists (select 1 from messages m where m.session_seq = sessions.seq)',
  )
  const forgetState = db.prepare<[number]>('update sessions set state = null where seq = ?')
  const renewLast = db.prepare<[number]>(renewLastSql('= ?'))
  const disown = db.prepare<[string, number]>(
    'update sessions set agent_id = ?, due_at = null where seq = ?',
  )

  return {
    enqueue: ({ agentId, sessionId, messageId, createdAt, now, claimUntil, maxQueued }) => {
      const place = enqueue.get(
        agentId,
        sessionId,
        claimUntil ?? now,
        claimUntil === null ? 0 : 1,
        messageId,
        createdAt,
        maxQueued,
      )
      if (!place) return undefined
      const [sessionSeq, position, lease, sessionState, isHead] = place
      return { sessionSeq, position, lease, sessionState, isHead: isHead === 1 }
    },
    due: (agentId, now, limit) => due.all(agentId, now, limit),
    claim: (sessionSeq, until) => claim.get(until, sessionSeq) ?? gone(sessionSeq),
    holdUntil: (sessionSeq, until) => void hold.run(until, sessionSeq),
    advance: (sessionSeq, now) => advance.get(now, sessionSeq) === 1,
    forgo: (sessionSeq) => {
      forgo.run(sessionSeq)
      return true
    },
    remember: (sessionSeq, sessionState) => void remember.run(sessionState, sessionSeq),
    hasOpen: (agentId) => open.get(agentId) !== undefined,
    find: (agentId, sessionId) => find.get(agentId, sessionId),
    forget: (sessionSeq) => {
      if (removeEmpty.run(sessionSeq).changes > 0) return
      forgetState.run(sessionSeq)
      renewLast.run(sessionSeq)
    },
    disown: (sessionSeq) => {
      const owner = `erased session ${sessionSeq}`
      disown.run(owner, sessionSeq)
      return owner
    },
  }
}

function gone(sessionSeq: number): never {
  throw new Error(`session ${sessionSeq} is gone within a transaction`)
}

/** Ends all leases on running heads; their tokens stay good until the next claim. */
export function releaseSessions(db: Database): void {
  // Zero is past by any clock, and these have waited longest.
  db.exec(`
    update sessions set due_at = 0 where due_at is not null and exists
      (select 1 from messages m where m.session_seq = sessions.seq and m.position = sessions.head_position and m.state = 'running')`)
}
