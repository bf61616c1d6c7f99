import type { Database } from 'better-sqlite3'
import {
  holdsRun,
  inputsColumn,
  messageOf,
  WAITING,
  type Asking,
  type Deferral,
  type HeldRun,
  type Instant,
  type MessageRow,
  type RecordedRun,
  type RunRecord,
  type SessionMemory,
  NO_CLAIMS,
} from '@org/agent-messaging-core/storage'
import type { FanOut } from '../events/fan-out.js'
import { inputsWriter, messageById, stateWriter } from './message-row.js'
import type { SessionRows } from './sessions.js'
import type { UsageRows } from './usage-store.js'

type HeldRuns = {
  ask(asking: Asking): RecordedRun
  extend(held: HeldRun, until: Instant): boolean
  defer(deferral: Deferral): 'deferred' | 'lease_lost'
  remember(memory: SessionMemory): 'remembered' | 'lease_lost'
  record(run: RunRecord): RecordedRun
}

type Parts = {
  readonly sessions: SessionRows
  readonly fanOut: FanOut
  readonly usage: UsageRows
}

/** Changes that only the holder of a lease can make. Call them in a transaction. */
export function heldRuns(db: Database, { sessions, fanOut, usage: counts }: Parts): HeldRuns {
  const byId = messageById(db)
  const writeState = stateWriter(db)
  const writeInputs = inputsWriter(db)

  function find({ messageId, token }: HeldRun): MessageRow | undefined {
    const row = byId(messageId)
    if (!row) return undefined
    const { state, lease, position, headPosition } = row
    return holdsRun({ state, lease, isHead: position === headPosition }, token) ? row : undefined
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
    ask: ({ state, inputs, outgoing, usage, ...held }) => {
      const row = find(held)
      if (!row) return { kind: 'lease_lost' }
      counts.add(usage)
      writeState(row.seq, row.attempt, state)
      writeInputs(row.seq, inputs)
      sessions.holdUntil(row.sessionSeq, WAITING)
      const message = messageOf({ ...row, inputs: inputsColumn(inputs) }, state)
      return { kind: 'recorded', message, ...fanOut(outgoing, row), sessionWaits: false }
    },
    remember: ({ sessionState, ...held }) => {
      const row = find(held)
      if (!row) return 'lease_lost'
      sessions.remember(row.sessionSeq, sessionState)
      return 'remembered'
    },
    record: (run) => {
      const { state, now, outgoing, usage } = run
      const row = find(run)
      if (!row) return { kind: 'lease_lost' }
      counts.add(usage)
      writeState(row.seq, row.attempt, state)
      if (state.kind === 'queued') sessions.holdUntil(row.sessionSeq, state.notBefore)
      const sessionWaits = state.kind === 'queued' || sessions.advance(row.sessionSeq, now)
      const { deliveries, skipped } = outgoing ? fanOut(outgoing, row) : NO_CLAIMS
      const message = messageOf(row, state)
      return { kind: 'recorded', message, deliveries, skipped, sessionWaits }
    },
  }
}
