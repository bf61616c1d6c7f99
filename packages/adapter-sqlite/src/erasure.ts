import type { SessionErasure, SessionsOf } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import type { SessionRows } from './session-rows.js'
import { atMost } from './statements.js'

/**
 * Erases sessions in two steps. The first step gives the sessions to an owner that is not an agent,
 * in a commit of one or two rows. Readers reach messages only by their session's agent, so they no
 * longer find them. The sweep then deletes the rows. No caller waits for a million deletions, and a
 * crash between the steps shows no half-erased session.
 */
export type Erasure = {
  /** Marks the sessions of this owner for the sweep. The owner must not be an agent any more. */
  add(owner: string): void
  /** Deletes up to `limit` rows of marked sessions. Returns the number of deleted rows. */
  sweep(limit: number): number
}

export function erasureOf(db: Database): Erasure {
  const insert = db.prepare<[string]>('insert or ignore into erasures (agent_id) values (?)')
  const oldest = db
    .prepare<[], string>('select agent_id from erasures order by seq limit 1')
    .pluck()
  const finish = db.prepare<[string]>('delete from erasures where agent_id = ?')
  const sessionOf = db
    .prepare<[string], number>('select seq from sessions where agent_id = ? limit 1')
    .pluck()
  const removeSession = db.prepare<[number]>('delete from sessions where seq = ?')
  const removeMessages = db.prepare<[number, number]>(
    `delete from messages where seq in (select seq from messages where session_seq = ? ${atMost('?')})`,
  )

  /**
   * Deletes up to `limit` rows of one session. Deletes the session when it has no messages left.
   */
  function sweepSession(sessionSeq: number, limit: number): number {
    const { changes } = removeMessages.run(sessionSeq, limit)
    return changes < limit ? changes + removeSession.run(sessionSeq).changes : changes
  }

  return {
    add: (owner) => void insert.run(owner),
    sweep: (limit) => {
      let removed = 0
      for (let owner = oldest.get(); owner !== undefined && removed < limit; owner = oldest.get()) {
        const sessionSeq = sessionOf.get(owner)
        if (sessionSeq === undefined) finish.run(owner)
        else removed += sweepSession(sessionSeq, limit - removed)
      }
      return removed
    },
  }
}

/** `MessageStore.erase`, in a transaction. */
export function sessionErasure(
  db: Database,
  sessions: SessionRows,
  erasure: Erasure,
): (session: SessionErasure) => 'erased' | 'busy' | undefined {
  const agentExists = db
    .prepare<[SessionsOf], 1>(
      'select 1 from agents where id = @agentId and project_id = @projectId',
    )
    .pluck()
  return ({ agentId, projectId, sessionId }) => {
    const session = agentExists.get({ agentId, projectId }) && sessions.find(agentId, sessionId)
    if (!session) return undefined
    if (session.openCount > 0) return 'busy'
    erasure.add(sessions.disown(session.seq))
    return 'erased'
  }
}
