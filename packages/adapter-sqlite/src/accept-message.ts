import type { Database } from 'better-sqlite3'
import type {
  Accepted,
  AgentState,
  Message,
  MessageState,
  NewMessage,
} from '@org/agent-messaging-core/storage'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import type { Place, SessionRows } from './session-rows.js'
import { traceColumn } from './trace.js'

type InsertedValues = (string | number | null)[]
/** The agent's state and limit, and the messages with the same id or key. */
type Case = [
  state: AgentState['kind'],
  maxQueued: number,
  sameId: number | null,
  sameKey: number | null,
]

/** `MessageStore.accept`, in a transaction. */
export function acceptance(db: Database, sessions: SessionRows): (message: NewMessage) => Accepted {
  const caseOf = db
    .prepare<[string, string | null, string, string], Case>(
      `select state, max_queued, (select seq from messages where id = ?),
         (select seq from messages where agent_id = agents.id and idempotency_key = ?)
       from agents where id = ? and project_id = ?`,
    )
    .raw()
  const byKey = db.prepare<[NewMessage], MessageRow>(
    `${selectMessage} where m.agent_id = @agentId and m.idempotency_key = @idempotencyKey and a.project_id = @projectId`,
  )
  const byId = db.prepare<[NewMessage], MessageRow>(
    `${selectMessage} where m.id = @id and m.agent_id = @agentId and a.project_id = @projectId`,
  )
  // An erased message keeps its key until the sweep deletes the message.
  const freeKey = db.prepare<[NewMessage]>(
    'update messages set idempotency_key = null where agent_id = @agentId and idempotency_key = @idempotencyKey',
  )
  const insert = db.prepare<[InsertedValues]>(`
    insert into messages (id, agent_id, session_seq, position, idempotency_key, fingerprint, message, metadata, principal,
      trace, attempt, state, not_before, started_at, created_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)

  return (accepted) => {
    const {
      id,
      projectId,
      agentId,
      sessionId,
      idempotencyKey = null,
      now,
      claimUntil = null,
    } = accepted
    const found = caseOf.get(id, idempotencyKey, agentId, projectId)
    if (!found) return { kind: 'agent_not_found' }
    const [agentState, maxQueued, sameId, sameKey] = found
    const existing =
      (sameKey === null ? undefined : byKey.get(accepted)) ??
      (sameId === null ? undefined : byId.get(accepted))
    if (existing) return { kind: 'existing', message: toMessage(existing) }
    if (agentState !== 'running') return { kind: 'agent_not_running' }
    const place = sessions.enqueue({
      agentId,
      sessionId,
      messageId: id,
      createdAt: now,
      now,
      claimUntil,
      maxQueued,
    })
    if (!place) return { kind: 'session_full' }

    if (sameKey !== null) freeKey.run(accepted)
    const born =
      claimUntil !== null && place.isHead ? claimed(accepted, place, claimUntil) : queued(accepted)
    insert.run(valuesOf(accepted, place, born.kind === 'claimed'))
    return born
  }
}

type Born = Extract<Accepted, { kind: 'created' | 'claimed' }>

const claimed = (accepted: NewMessage, { lease, sessionState }: Place, until: number): Born => {
  const message = messageOf(accepted, 1, { kind: 'running', startedAt: accepted.now })
  return {
    kind: 'claimed',
    claimed: {
      message,
      lease: { token: lease, until },
      ...(sessionState !== null && { sessionState }),
    },
  }
}

const queued = (accepted: NewMessage): Born => ({
  kind: 'created',
  message: messageOf(accepted, 0, { kind: 'queued', notBefore: accepted.now }),
})

/** One literal, because V8 gives each object that is made by spreading another one a large hidden class. */
const messageOf = <S extends MessageState>(
  accepted: NewMessage,
  attempt: number,
  state: S,
): Message & { readonly state: S } => ({
  id: accepted.id,
  projectId: accepted.projectId,
  agentId: accepted.agentId,
  sessionId: accepted.sessionId,
  message: accepted.message,
  ...(accepted.metadata && { metadata: accepted.metadata }),
  executionPrincipal: accepted.executionPrincipal,
  ...(accepted.fingerprint !== undefined && { fingerprint: accepted.fingerprint }),
  ...(accepted.trace && { trace: accepted.trace }),
  attempt,
  state,
  createdAt: accepted.now,
})

const valuesOf = (
  accepted: NewMessage,
  { sessionSeq, position }: Place,
  isClaimed: boolean,
): InsertedValues => [
  accepted.id,
  accepted.agentId,
  sessionSeq,
  position,
  accepted.idempotencyKey ?? null,
  accepted.fingerprint ?? null,
  accepted.message,
  accepted.metadata === undefined ? null : JSON.stringify(accepted.metadata),
  JSON.stringify(accepted.executionPrincipal),
  traceColumn(accepted.trace),
  isClaimed ? 1 : 0,
  isClaimed ? 'running' : 'queued',
  isClaimed ? null : accepted.now,
  isClaimed ? accepted.now : null,
  accepted.now,
]
