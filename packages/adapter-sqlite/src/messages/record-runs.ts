import type { Database } from 'better-sqlite3'
import {
  holdsRun,
  messageOf,
  NO_CLAIMS,
  type RecordedRun,
  type RunRecord,
} from '@org/agent-messaging-core/storage'
import type { FanOut } from '../events/fan-out.js'
import { messageById, stateWriter } from './message-row.js'
import type { SessionRows } from './sessions.js'
import type { UsageRows } from './usage-store.js'

type Parts = {
  readonly sessions: SessionRows
  readonly fanOut: FanOut
  readonly usage: UsageRows
}

/** `MessageStore.recordRun`, in a transaction. */
export function runRecords(
  db: Database,
  { sessions, fanOut, usage: counts }: Parts,
): (run: RunRecord) => RecordedRun {
  const byId = messageById(db)
  const writeState = stateWriter(db)

  return ({ messageId, token, state, now, outgoing, usage }) => {
    const row = byId(messageId)
    const isHead = row?.position === row?.headPosition
    if (!row || !holdsRun({ state: row.state, lease: row.lease, isHead }, token))
      return { kind: 'lease_lost' }
    counts.add(usage)
    writeState(row.seq, row.attempt, state)
    if (state.kind === 'queued') sessions.holdUntil(row.sessionSeq, state.notBefore)
    const sessionWaits = state.kind === 'queued' || sessions.advance(row.sessionSeq, now)
    const { deliveries, skipped } = outgoing ? fanOut(outgoing, row) : NO_CLAIMS
    const message = messageOf(row, state)
    return { kind: 'recorded', message, deliveries, skipped, sessionWaits }
  }
}
