import type { Database } from 'better-sqlite3'
import {
  claimedMessage,
  createdMessage,
  newMessageClaim,
  requestColumn,
  toMessage,
  traceColumn,
  type Accepted,
  type AgentState,
  type MessageRow,
  type NewMessage,
} from '@org/agent-messaging-core/storage'
import { insertHook } from '@org/agent-messaging-sql-kit'
import type { Perform } from '../database/operations.js'
import { selectMessage } from './message-row.js'
import type { SessionPlace, SessionRows } from './sessions.js'
import type { SendBuckets } from './send-buckets.js'
import type { CountEntries } from './counts.js'

type InsertedValues = (string | number | null)[]
/** The agent's state and limit, and the messages with the same id or key. */
type Case = [
  state: AgentState['kind'],
  maxQueued: number,
  updatedAt: number,
  sameId: number | null,
  sameKey: number | null,
]

type Parts = {
  readonly counts: CountEntries
  readonly buckets: SendBuckets
  readonly perform: Perform
}

/** `MessageStore.accept`, in a transaction. */
export function acceptance(
  db: Database,
  sessions: SessionRows,
  { counts, buckets, perform }: Parts,
): (message: NewMessage) => Accepted {
  const caseOf = db
    .prepare<[string, string | null, string, string], Case>(
      `select state, max_queued, updated_at, (select seq from messages where id = ?),
         (select seq from messages where agent_id = agents.id and idempotency_key = ?)
       from agents where id = ? and project_id = ?`,
    )
    .raw()
  const isKeyValid = db.prepare<[string]>(
    'select 1 from api_keys where id = ? and revoked_at is null',
  )
  const byKey = db.prepare<[NewMessage], MessageRow>(
    `${selectMessage} where m.agent_id = +@agentId and m.idempotency_key = +@idempotencyKey and a.project_id = +@projectId`,
  )
  const byId = db.prepare<[NewMessage], MessageRow>(
    `${selectMessage} where m.id = +@id and m.agent_id = +@agentId and a.project_id = +@projectId`,
  )
  // An erased message keeps its key until the sweep deletes the message.
  const freeKey = db.prepare<[NewMessage]>(
    'update messages set idempotency_key = null where agent_id = @agentId and idempotency_key = @idempotencyKey',
  )
  const insert = db.prepare<[InsertedValues]>(`
    insert into messages (id, agent_id, session_seq, position, idempotency_key, fingerprint, message, request, metadata, principal,
      trace, earlier_turns, attempt, state, not_before, started_at, created_at, open_until, hook_version)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)

  return (accepted) => {
    const {
      id,
      projectId,
      agentId,
      sessionId,
      idempotencyKey = null,
      now,
      claimUntil = null,
      readEarlier: { apiKeyId, agentUpdatedAt } = {},
    } = accepted
    if (apiKeyId !== undefined && !isKeyValid.get(apiKeyId)) return { kind: 'key_revoked' }
    const found = caseOf.get(id, idempotencyKey, agentId, projectId)
    if (!found) return { kind: 'agent_not_found' }
    const [agentState, maxQueued, updatedAt, sameId, sameKey] = found
    const existing =
      (sameKey === null ? undefined : byKey.get(accepted)) ??
      (sameId === null ? undefined : byId.get(accepted))
    const isChanged = (agentUpdatedAt ?? updatedAt) !== updatedAt
    // With a changed agent, the key can be meant for another agent that now has its name.
    if (existing && (existing.id === id || !isChanged))
      return { kind: 'existing', message: toMessage(existing) }
    if (agentState !== 'running') return { kind: 'agent_not_running' }
    if (isChanged) return { kind: 'agent_changed' }
    const taken = accepted.takes && buckets.take(accepted.takes, now)
    if (taken?.isTaken === false) return { kind: 'rate_limited', levels: taken.levels }
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
    const claim = newMessageClaim(accepted.claimUntil, place.isHead)
    insert.run(valuesOf(accepted, place, claim !== undefined))
    if (accepted.hook) perform(insertHook, accepted.hook)
    counts.add(accepted.count)
    taken?.store()
    const result =
      claim === undefined
        ? createdMessage(accepted)
        : claimedMessage(accepted, place.lease, claim, place.sessionState)
    return taken ? { ...result, levels: taken.levels } : result
  }
}

const valuesOf = (
  accepted: NewMessage,
  { sessionSeq, position }: SessionPlace,
  isClaimed: boolean,
): InsertedValues => [
  accepted.id,
  accepted.agentId,
  sessionSeq,
  position,
  accepted.idempotencyKey ?? null,
  accepted.fingerprint ?? null,
  accepted.message,
  requestColumn(accepted),
  accepted.metadata === undefined ? null : JSON.stringify(accepted.metadata),
  JSON.stringify(accepted.executionPrincipal),
  traceColumn(accepted.trace),
  accepted.earlierTurns === undefined ? null : JSON.stringify(accepted.earlierTurns),
  isClaimed ? 1 : 0,
  isClaimed ? 'running' : 'queued',
  isClaimed ? null : accepted.now,
  isClaimed ? accepted.now : null,
  accepted.now,
  accepted.now,
  accepted.hook ? 1 : null,
]
