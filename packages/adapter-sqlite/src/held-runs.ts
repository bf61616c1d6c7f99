import type { Database } from 'better-sqlite3'
import type { Held, Instant, MessageStore, RecordedRun } from '@org/agent-messaging-core/storage'
import type { FanOut } from './fan-out.js'
import { messageById, stateWriter, toMessage, type MessageRow } from './message-row.js'
import type { SessionRows } from './session-rows.js'

type HeldRuns = {
  extend(held: Held, until: Instant): boolean
  defer(deferral: Parameters<MessageStore['defer']>[0]): 'deferred' | 'lease_lost'
  remember(memory: Parameters<MessageStore['rememberSession']>[0]): 'remembered' | 'lease_lost'
  record(run: Parameters<MessageStore['recordRun']>[0]): RecordedRun
}

/** Changes that only the holder of a lease can make. Call them in a transaction. */
export function heldRuns(db: Database, sessions: SessionRows, fanOut: FanOut): HeldRuns {
  const byId = messageById(db)
  const writeState = stateWriter(db)

  /** Finds the message if this token still holds it. A lease that has ended counts until the next claim. */
  function find({ messageId, token }: Held): MessageRow | undefined {
    const row = byId(messageId)
    const isHeld =
      row?.lease === token &&
      row.position === row.headPosition &&
      (row.state === 'running' || row.state === 'deferred')
    return isHeld ? row : undefined
  }

  return {
    extend: (held, until) => {
      const row = find(held)
      if (row?.state !== 'running') return false
      sessions.holdUntil(row.sessionSeq, until)
      return true
    },
    defer: ({ state, ...held }) => {
      const row = find(held)
      if (!row) return 'lease_lost'
      writeState(row.seq, row.attempt, state)
      sessions.holdUntil(row.sessionSeq, state.deadlineAt)
      return 'deferred'
    },
    remember: ({ sessionState, ...held }) => {
      const row = find(held)
      if (!row) return 'lease_lost'
      sessions.remember(row.sessionSeq, sessionState)
      return 'remembered'
    },
    record: ({ state, now, outgoing, ...held }) => {
      const row = find(held)
      if (!row) return { kind: 'lease_lost' }
      writeState(row.seq, row.attempt, state)
      if (state.kind === 'queued') sessions.holdUntil(row.sessionSeq, state.notBefore)
      const sessionWaits = state.kind === 'queued' || sessions.advance(row.sessionSeq, now)
      const deliveries = outgoing ? fanOut(outgoing) : []
      return { kind: 'recorded', message: { ...toMessage(row), state }, deliveries, sessionWaits }
    },
  }
}
