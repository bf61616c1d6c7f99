import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core'
import { atMost } from '../database/statements.js'

type Enqueue = {
  readonly agentId: string
  readonly sessionId: string
  readonly messageId: string
  readonly createdAt: Instant
  readonly now: Instant
  readonly claimUntil: Instant | null
  readonly maxQueued: number
}

/** A message's place in its session. `isHead`: no open message is ahead of it. */
export type SessionPlace = {
  readonly sessionSeq: number
  readonly position: number
  readonly lease: number
  readonly sessionState: string | null
  readonly isHead: boolean
}

/** Each send enqueues. Binding values by place costs a third of binding them by name. */
type EnqueueValues = [
  agentId: string,
  sessionId: string,
  dueAt: Instant,
  isClaimed: 0 | 1,
  messageId: string,
  createdAt: Instant,
  maxQueued: number,
]
type PlaceValues = [
  sessionSeq: number,
  position: number,
  lease: number,
  sessionState: string | null,
  isHead: 0 | 1,
]

type Claimed = {
  readonly token: number
  readonly sessionState: string | null
  /** The agent's setting. */
  readonly maxAttempts: number
}

export const dueSessionsSql = `select seq from sessions where agent_id = ? and due_at <= ? order by due_at ${atMost('?')}`

/** Of many agents, few have due sessions. */
const waitingAgentsSql = `
  select value from json_each(?)
  where exists (select 1 from sessions where agent_id = json_each.value and due_at <= ?)`

/**
 * Skips the positions of cancelled messages and of retried ones, which moved. All open messages
 * behind the head are queued.
 */
const nextOpenSql = `
  select position from messages
  where session_seq = sessions.seq and position > sessions.head_position and state = 'queued' order by position limit 1`

/**
 * Reads and writes sessions. A session's row is the queue and the lock of its messages.
 *
 * `head_position` is the message that runs next. `due_at` says when it can be claimed: at once,
 * after a backoff, at the end of its lease if the holder died, or when its callback is overdue.
 * `lease` counts the claims, so the token of a superseded holder is too low.
 */
export class SessionRows {
  readonly #sql: ReturnType<typeof prepare>

  constructor(db: Database) {
    this.#sql = prepare(db)
  }

  /**
   * Adds a message to the session. If `claimUntil` is given and the message is the head, the place
   * is under a lease. Returns undefined if the session is full.
   */
  enqueue(message: Enqueue): SessionPlace | undefined {
    const place = this.#sql.enqueue.get(
      message.agentId,
      message.sessionId,
      message.claimUntil ?? message.now,
      message.claimUntil === null ? 0 : 1,
      message.messageId,
      message.createdAt,
      message.maxQueued,
    )
    if (!place) return undefined
    const [sessionSeq, position, lease, sessionState, isHead] = place
    return { sessionSeq, position, lease, sessionState, isHead: isHead === 1 }
  }

  /** Returns those of the agents that have sessions whose head can be claimed. */
  waiting(agentIds: readonly string[], now: Instant): ReadonlySet<string> {
    return new Set(this.#sql.waiting.all(JSON.stringify(agentIds), now))
  }

  /** Returns the agent's sessions whose head can be claimed, the longest due first. */
  due(agentId: string, now: Instant, limit: number): number[] {
    return this.#sql.due.all(agentId, now, limit)
  }

  /** Takes a new lease on the head, which supersedes older leases. */
  claim(sessionSeq: number, until: Instant): Claimed {
    const claimed = this.#sql.claim.get(until, sessionSeq)
    if (!claimed) throw new Error(`session ${sessionSeq} disappeared during a transaction`)
    return claimed
  }

  /** Prevents claims of the head until then. The token does not change. */
  holdUntil(sessionSeq: number, until: Instant): void {
    this.#sql.hold.run(until, sessionSeq)
  }

  /**
   * The head is final. The next message can be claimed from now on. Returns whether there is one.
   */
  advance(sessionSeq: number, now: Instant): boolean {
    return this.#sql.advance.get(now, sessionSeq) === 1
  }
}

const prepare = (db: Database) => ({
  enqueue: db
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
    .raw(),
  waiting: db.prepare<[string, Instant], string>(waitingAgentsSql).pluck(),
  due: db.prepare<[string, Instant, number], number>(dueSessionsSql).pluck(),
  claim: db.prepare<[Instant, number], Claimed>(
    `update sessions set due_at = ?, lease = lease + 1 where seq = ?
     returning lease as token, state as sessionState,
       (select max_attempts from agents where agents.id = agent_id) as maxAttempts`,
  ),
  hold: db.prepare<[Instant, number]>('update sessions set due_at = ? where seq = ?'),
  advance: db
    .prepare<[Instant, number], 0 | 1>(
      `update sessions set open_count = open_count - 1, due_at = case when open_count > 1 then ? end,
         head_position = case when open_count > 1 then (${nextOpenSql}) else last_position + 1 end
       where seq = ? returning due_at is not null`,
    )
    .pluck(),
})

/**
 * Ends the leases of all running heads. Their tokens stay valid until the next claim. Returns their
 * number.
 */
export function releaseSessions(db: Database): number {
  // Zero is in the past by any clock. These messages have waited longest.
  const release = db.prepare(`
    update sessions set due_at = 0 where due_at is not null and exists
      (select 1 from messages m where m.session_seq = sessions.seq and m.position = sessions.head_position and m.state = 'running')`)
  return release.run().changes
}
