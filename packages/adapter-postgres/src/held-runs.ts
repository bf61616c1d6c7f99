import type { Held, Instant, MessageStore } from '@org/agent-messaging-core'
import type { Database, Queries } from './database.js'
import { messageById, writeState, type MessageRow } from './message-row.js'
import { holdUntil, lockSessionsOf, remember } from './session-row.js'
import { sql } from './sql.js'

// What the holder of a lease may do beside recording its run, within a transaction.

type Deferral = Parameters<MessageStore['defer']>[0]
type Memory = Parameters<MessageStore['rememberSession']>[0]
type Messages = { readonly messageIds: readonly string[] }
type Leases = Messages & { readonly tokens: readonly number[]; readonly sessionSeqs: readonly number[]; readonly until: Instant }

/** The message that this token still has the right to: running or deferred, and not claimed since. Time plays no part. */
async function lockHeld(db: Queries, { messageId, token }: Held): Promise<MessageRow | undefined> {
  await lockSessionsOf(db, messageId)
  const row = await db.one(messageById, { messageId })
  const isHeld = row?.lease === token && row.position === row.headPosition && (row.state === 'running' || row.state === 'deferred')
  return isHeld ? row : undefined
}

const lockFreeSql = sql<Messages, { readonly sessionSeq: number }>(`
  select seq as "sessionSeq" from agent_messaging.sessions
  where seq in (select session_seq from agent_messaging.messages where id = any(@messageIds::text[])) for update skip locked`)
const extendSql = sql<Leases, { readonly place: number; readonly isLocked: boolean }>(`
  with held as (
    select given.*, m.session_seq, m.position, m.state
    from unnest(@messageIds::text[], @tokens::bigint[]) with ordinality as given (message_id, token, place)
      join agent_messaging.messages m on m.id = given.message_id),
  extended as (
    update agent_messaging.sessions s set due_at = @until from held, agent_messaging.agents a
    where s.seq = held.session_seq and s.seq = any(@sessionSeqs::bigint[]) and a.id = s.agent_id
      and s.lease = held.token and s.head_position = held.position and held.state = 'running'
    returning held.place)
  select place, false as "isLocked" from extended
  union all select place, true from held where session_seq <> all(@sessionSeqs::bigint[])`)

/** `lost` are the ids of their messages. `locked`: somebody else has their sessions, so that nothing is known of them, nor done. */
type Extended = { readonly lost: readonly string[]; readonly locked: readonly Held[] }

/** `MessageStore.extendLeases`, as far as that is possible at once: for a session that somebody has locked no other waits. */
export async function extendLeases(db: Queries, leases: readonly Held[], until: Instant): Promise<Extended> {
  const messageIds = leases.map(({ messageId }) => messageId)
  const sessionSeqs = (await db.all(lockFreeSql, { messageIds })).map(({ sessionSeq }) => sessionSeq)
  const rows = await db.all(extendSql, { messageIds, tokens: leases.map(({ token }) => token), sessionSeqs, until })
  const isLocked = new Map(rows.map((row) => [row.place - 1, row.isLocked]))
  return { lost: messageIds.filter((_, at) => !isLocked.has(at)), locked: leases.filter((_, at) => isLocked.get(at)) }
}

/** Longer than the pause between two beats. */
const MOST_WAITS = 1

/**
 * The same of what was locked, at the moment when it is let go: then it is first, before anybody claims what has come to its end meanwhile.
 * For as long as that is asked for, on one connection; nobody waits for it.
 */
export function lockedLeases(write: Database['write']): (leases: readonly Held[], until: Instant) => void {
  let asked: { readonly leases: readonly Held[]; readonly until: Instant } | undefined

  async function extendWhenFree(): Promise<void> {
    for (let done: typeof asked; asked && asked !== done;) {
      done = asked
      const messageIds = asked.leases.map(({ messageId }) => messageId)
      await write(async (db) => {
        await lockSessionsOf(db, ...messageIds)
        done = asked // that may be later than what was asked for at first
        if (done) await extendLeases(db, done.leases, done.until)
      }, MOST_WAITS)
    }
    asked = undefined
  }

  return (leases, until) => {
    const isWaiting = asked !== undefined
    if (leases.length > 0) asked = { leases, until }
    if (asked && !isWaiting) void extendWhenFree()
  }
}

/** `MessageStore.defer`. */
export async function defer(db: Queries, { state, ...held }: Deferral): Promise<'deferred' | 'lease_lost'> {
  const row = await lockHeld(db, held)
  if (!row) return 'lease_lost'
  await writeState(db, row.seq, row.attempt, state)
  await holdUntil(db, row.sessionSeq, state.deadlineAt)
  return 'deferred'
}

/** `MessageStore.rememberSession`. */
export async function rememberSession(db: Queries, { sessionState, ...held }: Memory): Promise<'remembered' | 'lease_lost'> {
  const row = await lockHeld(db, held)
  if (!row) return 'lease_lost'
  await remember(db, row.sessionSeq, sessionState)
  return 'remembered'
}
