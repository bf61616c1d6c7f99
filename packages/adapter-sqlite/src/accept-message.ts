import type { Database } from 'better-sqlite3'
import type { Accepted, AgentState, Message, NewMessage } from '@org/agent-messaging-core'
import { selectMessage, stateColumns, toMessage, type MessageRow, type StateColumns } from './message-row.js'
import type { Place, SessionRows } from './session-row.js'
import { traceColumn } from './trace.js'

type InsertedColumns = StateColumns & {
  readonly id: string
  readonly agentId: string
  readonly sessionSeq: number
  readonly position: number
  readonly idempotencyKey: string | null
  readonly fingerprint: string | null
  readonly message: string
  readonly metadata: string | null
  readonly principal: string
  readonly trace: string | null
  readonly attempt: number
  readonly createdAt: number
}

/** `MessageStore.accept`, within a transaction. */
export function acceptance(db: Database, sessions: SessionRows): (message: NewMessage) => Accepted {
  const byKey = db.prepare<[NewMessage], MessageRow>(
    `${selectMessage} where m.agent_id = @agentId and m.idempotency_key = @idempotencyKey and a.project_id = @projectId`,
  )
  const byId = db.prepare<[NewMessage], MessageRow>(
    `${selectMessage} where m.id = @id and m.agent_id = @agentId and a.project_id = @projectId`,
  )
  const agentOf = db.prepare<[NewMessage], { state: AgentState['kind']; maxQueued: number }>(
    'select state, max_queued as maxQueued from agents where id = @agentId and project_id = @projectId',
  )
  // What is erased holds its key until it is swept; nobody finds it there.
  const freeKey = db.prepare<[NewMessage]>(
    'update messages set idempotency_key = null where agent_id = @agentId and idempotency_key = @idempotencyKey',
  )
  const insert = db.prepare<[InsertedColumns]>(`
    insert into messages (id, agent_id, session_seq, position, idempotency_key, fingerprint, message, metadata, principal,
      trace, attempt, state, not_before, started_at, created_at)
    values (@id, @agentId, @sessionSeq, @position, @idempotencyKey, @fingerprint, @message, @metadata, @principal,
      @trace, @attempt, @state, @notBefore, @startedAt, @createdAt)`)

  return (accepted) => {
    const existing = (accepted.idempotencyKey === undefined ? undefined : byKey.get(accepted)) ?? byId.get(accepted)
    if (existing) return { kind: 'existing', message: toMessage(existing) }
    const agent = agentOf.get(accepted)
    if (!agent) return { kind: 'agent_not_found' }
    if (agent.state !== 'running') return { kind: 'agent_not_running' }
    const { claimUntil = null } = accepted
    const place = sessions.enqueue({
      ...{ agentId: accepted.agentId, sessionId: accepted.sessionId, messageId: accepted.id, createdAt: accepted.now },
      ...{ now: accepted.now, claimUntil, maxQueued: agent.maxQueued },
    })
    if (!place) return { kind: 'session_full' }

    if (accepted.idempotencyKey !== undefined) freeKey.run(accepted)
    const born = claimUntil !== null && place.isHead ? claimed(accepted, place, claimUntil) : queued(accepted)
    insert.run(columnsOf(accepted, place, born.kind === 'claimed' ? born.claimed.message : born.message))
    return born
  }
}

type Born = Extract<Accepted, { kind: 'created' | 'claimed' }>

const claimed = (accepted: NewMessage, { lease, sessionState }: Place, until: number): Born => {
  const message = { ...factsOf(accepted), attempt: 1, state: { kind: 'running', startedAt: accepted.now } } as const
  return { kind: 'claimed', claimed: { message, lease: { token: lease, until }, ...(sessionState !== null && { sessionState }) } }
}

const queued = (accepted: NewMessage): Born => ({
  kind: 'created',
  message: { ...factsOf(accepted), attempt: 0, state: { kind: 'queued', notBefore: accepted.now } },
})

function factsOf({ idempotencyKey: _, now, claimUntil: __, ...facts }: NewMessage): Omit<Message, 'attempt' | 'state'> {
  return { ...facts, createdAt: now }
}

const columnsOf = (accepted: NewMessage, { sessionSeq, position }: Place, message: Message): InsertedColumns => ({
  ...stateColumns(message.state),
  id: message.id,
  agentId: message.agentId,
  sessionSeq,
  position,
  idempotencyKey: accepted.idempotencyKey ?? null,
  fingerprint: message.fingerprint ?? null,
  message: message.message,
  metadata: message.metadata === undefined ? null : JSON.stringify(message.metadata),
  principal: JSON.stringify(message.executionPrincipal),
  trace: traceColumn(message.trace),
  attempt: message.attempt,
  createdAt: message.createdAt,
})
