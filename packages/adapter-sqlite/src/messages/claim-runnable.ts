import type { Database } from 'better-sqlite3'
import {
  allowedAttempts,
  claimedAttempt,
  isExhausted,
  messageOf,
  toMessage,
  type ClaimedMessage,
  type ClaimRunnable,
  type MessageRow,
} from '@org/agent-messaging-core/storage'
import { selectMessage, stateWriter } from './message-row.js'
import type { SessionRows } from './sessions.js'

/**
 * `MessageStore.claimRunnable`, in a transaction. A lane without due messages costs one index
 * descent.
 */
export function runnableClaims(
  db: Database,
  sessions: SessionRows,
): (query: ClaimRunnable) => ClaimedMessage[] {
  const headOf = db.prepare<[number], MessageRow>(
    `${selectMessage} where s.seq = +? and m.session_seq = s.seq and m.position = s.head_position`,
  )
  const writeState = stateWriter(db)

  function claim(sessionSeq: number, { now, until }: ClaimRunnable): ClaimedMessage[] {
    const head = headOf.get(sessionSeq)
    if (!head) return []
    const { token, sessionState, maxAttempts } = sessions.claim(sessionSeq, until)
    const allowed = allowedAttempts(maxAttempts, toMessage(head))
    const attempt = claimedAttempt(head.attempt, allowed)
    const state = { kind: 'running', startedAt: now } as const
    writeState(head.seq, attempt, state)
    const lost = head.state === 'running' || head.state === 'deferred' ? head.state : undefined
    const message = messageOf(head, state, attempt)
    return [
      {
        message,
        lease: { token, until },
        ...(lost && { lost }),
        ...(isExhausted(head.attempt, allowed) && { isExhausted: true }),
        ...(sessionState !== null && { sessionState }),
      },
    ]
  }

  return (query) =>
    query.lanes.flatMap(({ agentId, free }) =>
      sessions.due(agentId, query.now, free).flatMap((sessionSeq) => claim(sessionSeq, query)),
    )
}
