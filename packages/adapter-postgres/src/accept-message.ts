import type { Accepted, Message, NewMessage } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { keepAgent } from './message-changes.js'
import { selectMessage, stateColumns, toMessage, type MessageRow, type StateColumns } from './message-row.js'
import { enqueue, type Place } from './session-row.js'
import { sql } from './sql.js'
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

export const existingSql = sql<NewMessage, MessageRow>(`
  ${selectMessage} where a.project_id = @projectId and m.seq = coalesce(
    (select seq from agent_messaging.messages where agent_id = @agentId and idempotency_key = @idempotencyKey),
    (select seq from agent_messaging.messages where agent_id = @agentId and id = @id))`)

/** What is erased holds its key until it is swept; nobody finds it there. A key that another one has taken meanwhile is not freed. */
const freeKeySql = sql<NewMessage>(`
  update agent_messaging.messages m set idempotency_key = null
  where m.agent_id = @agentId and m.idempotency_key = @idempotencyKey and not exists
    (select 1 from agent_messaging.sessions s join agent_messaging.agents a on a.id = s.agent_id where s.seq = m.session_seq)`)

const insertSql = sql<InsertedColumns>(`
  insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key, fingerprint, message, metadata, principal,
    trace, attempt, state, not_before, started_at, created_at)
  values (@id, @agentId, @sessionSeq, @position, @idempotencyKey, @fingerprint, @message, @metadata, @principal,
    @trace, @attempt, @state, @notBefore, @startedAt, @createdAt)`)

/**
 * `MessageStore.accept`, within a transaction. Of two that come at once with one key, or one id, the second finds neither at first;
 * its insert then violates the unique index, and its transaction runs again and finds the other's message.
 */
export async function accept(db: Queries, accepted: NewMessage): Promise<Accepted> {
  const existing = await db.one(existingSql, accepted)
  if (existing) return { kind: 'existing', message: toMessage(existing) }
  const agent = await keepAgent(db, accepted)
  if (!agent) return { kind: 'agent_not_found' }
  if (agent.state !== 'running') return { kind: 'agent_not_running' }
  const { claimUntil = null } = accepted
  const place = await enqueue(db, {
    ...{ agentId: accepted.agentId, sessionId: accepted.sessionId, messageId: accepted.id, createdAt: accepted.now },
    ...{ now: accepted.now, claimUntil, maxQueued: agent.maxQueued },
  })
  if (!place) return { kind: 'session_full' }

  if (accepted.idempotencyKey !== undefined) await db.run(freeKeySql, accepted)
  const born = claimUntil !== null && place.isHead ? claimed(accepted, place, claimUntil) : queued(accepted)
  await db.run(insertSql, columnsOf(accepted, place, born.kind === 'claimed' ? born.claimed.message : born.message))
  return born
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
