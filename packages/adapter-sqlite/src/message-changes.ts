import type { Database } from 'better-sqlite3'
import {
  inputsColumn,
  isFinal,
  isRetryable,
  isWaitingFor,
  messageOf,
  toMessage,
  type AgentState,
  type Cancellation,
  type Cancelled,
  type InputChange,
  type InputChanged,
  type Message,
  type MessageRef,
  type MetadataChange,
  type Retried,
  type Retry,
} from '@org/agent-messaging-core/storage'
import type { FanOut } from './fan-out.js'
import { inputsWriter, messageByRef, stateWriter } from './message-row.js'
import type { SessionRows } from './session-rows.js'

type MessageChanges = {
  cancel(cancellation: Cancellation): Cancelled | undefined
  retry(retry: Retry): Retried | undefined
  setMetadata(change: MetadataChange): Message | undefined
  changeInput(change: InputChange): InputChanged | undefined
}

/**
 * Changes that need no lease: cancel, retry, metadata, and changes of a question. Call them in a
 * transaction.
 */
export function messageChanges(
  db: Database,
  sessions: SessionRows,
  fanOut: FanOut,
): MessageChanges {
  const byRef = messageByRef(db)
  const writeState = stateWriter(db)
  const writeInputs = inputsWriter(db)
  const move = db.prepare<[number, number]>('update messages set position = ? where seq = ?')
  const agentOf = db.prepare<[MessageRef], { state: AgentState['kind']; maxQueued: number }>(
    'select state, max_queued as maxQueued from agents where id = @agentId',
  )

  return {
    cancel: ({ state, outgoing, audit: _, ...ref }) => {
      const row = byRef.get(ref)
      if (!row) return undefined
      const message = toMessage(row)
      if (isFinal(message.state)) return { kind: 'already_final', message }
      writeState(row.seq, row.attempt, state)
      const isHead = row.position === row.headPosition
      const sessionWaits = !isHead || sessions.advance(row.sessionSeq, state.cancelledAt)
      if (!isHead) sessions.skip(row.sessionSeq)
      return {
        kind: 'cancelled',
        message: { ...message, state },
        ...fanOut(outgoing, row),
        sessionWaits,
      }
    },
    retry: ({ now, audit: _, ...ref }) => {
      const row = byRef.get(ref)
      if (!row) return undefined
      const message = toMessage(row)
      if (!isRetryable(message.state)) return { kind: 'not_retryable' }
      const agent = agentOf.get(ref)
      if (agent?.state !== 'running') return { kind: 'agent_not_running' }
      const { id: messageId, agentId, sessionId, createdAt } = message
      const place = sessions.enqueue({
        agentId,
        sessionId,
        messageId,
        createdAt,
        now,
        claimUntil: null,
        maxQueued: agent.maxQueued,
      })
      if (!place) return { kind: 'session_full' }
      const state = { kind: 'queued', notBefore: now } as const
      move.run(place.position, row.seq)
      writeState(row.seq, 0, state)
      writeInputs(row.seq, undefined)
      return { kind: 'retried', message: messageOf({ ...row, inputs: null }, state, 0) }
    },
    setMetadata: metadataChange(db),
    changeInput: (change) => {
      const { messageId, agentId, projectId, state, inputs, now, outgoing } = change
      const row = byRef.get({ messageId, agentId, projectId })
      if (!row) return undefined
      const message = toMessage(row)
      if (!isWaitingFor(message, change)) return { kind: 'not_waiting', message }
      writeState(row.seq, row.attempt, state)
      writeInputs(row.seq, inputs)
      if (state.kind === 'queued') sessions.holdUntil(row.sessionSeq, state.notBefore)
      const sessionWaits =
        state.kind === 'queued' ||
        (state.kind === 'failed' && sessions.advance(row.sessionSeq, now))
      return {
        kind: 'changed',
        message: messageOf({ ...row, inputs: inputsColumn(inputs) }, state),
        ...fanOut(outgoing, row),
        sessionWaits,
      }
    },
  }
}

function metadataChange(db: Database): MessageChanges['setMetadata'] {
  const byRef = messageByRef(db)
  const write = db.prepare<[string, number]>('update messages set metadata = ? where seq = ?')
  return ({ metadata, ...ref }) => {
    const row = byRef.get(ref)
    if (!row) return undefined
    write.run(JSON.stringify(metadata), row.seq)
    return { ...toMessage(row), metadata }
  }
}
