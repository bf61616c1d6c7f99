import type {
  ExecutionPrincipal,
  JsonObject,
  Message,
  MessageRef,
  MessageState,
  RunError,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'
import { toTrace } from './trace.js'

/** What a message is beside its state, which changes. */
export type MessageFacts = {
  readonly id: string
  readonly projectId: string
  readonly agentId: string
  readonly sessionId: string
  readonly message: string
  readonly metadata: string | null
  readonly principal: string
  readonly fingerprint: string | null
  readonly trace: string | null
  readonly attempt: number
  readonly createdAt: number
}

/** A message with its session's lease and its agent's project. */
export type MessageRow = MessageFacts &
  StateColumns & {
    readonly seq: number
    readonly sessionSeq: number
    readonly position: number
    readonly headPosition: number
    readonly lease: number
  }

/** Of each state its own, and null for the rest. */
export type StateColumns = {
  readonly state: MessageState['kind']
  readonly notBefore: number | null
  readonly startedAt: number | null
  readonly deadlineAt: number | null
  readonly finishedAt: number | null
  readonly responseTimeMs: number | null
  readonly response: string | null
  readonly error: string | null
}

/** To be followed by a `where`. What is erased, or was a deleted agent's, has a session without an agent: it is found by nobody. */
export const selectMessage = `
  select m.seq, m.id, a.project_id as "projectId", m.agent_id as "agentId", m.session_seq as "sessionSeq", s.session_id as "sessionId",
    m.position, s.head_position as "headPosition", s.lease, m.message, m.metadata, m.principal, m.fingerprint, m.trace, m.attempt,
    m.state, m.not_before as "notBefore", m.started_at as "startedAt", m.deadline_at as "deadlineAt", m.finished_at as "finishedAt",
    m.response_time_ms as "responseTimeMs", m.response, m.error, m.created_at as "createdAt"
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq join agent_messaging.agents a on a.id = s.agent_id`

export const messageById = sql<{ readonly messageId: string }, MessageRow>(
  `${selectMessage} where m.id = @messageId`,
)
export const messagesByIds = sql<{ readonly ids: readonly string[] }, MessageRow>(
  `${selectMessage} where m.id = any(@ids::text[])`,
)
export const messageByRef = sql<MessageRef, MessageRow>(
  `${selectMessage} where m.id = @messageId and m.agent_id = @agentId and a.project_id = @projectId`,
)

export const toMessage = (row: MessageRow): Message => ({ ...toFacts(row), state: toState(row) })

export const toFacts = (row: MessageFacts): Omit<Message, 'state'> => ({
  id: row.id,
  projectId: row.projectId,
  agentId: row.agentId,
  sessionId: row.sessionId,
  message: row.message,
  ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as JsonObject }),
  executionPrincipal: JSON.parse(row.principal) as ExecutionPrincipal,
  ...(row.fingerprint !== null && { fingerprint: row.fingerprint }),
  ...toTrace(row.trace),
  attempt: row.attempt,
  createdAt: row.createdAt,
})

const blank = {
  ...{ notBefore: null, startedAt: null, deadlineAt: null, finishedAt: null },
  ...{ responseTimeMs: null, response: null, error: null },
} as const

export function stateColumns(state: MessageState): StateColumns {
  switch (state.kind) {
    case 'queued':
      return { ...blank, state: state.kind, notBefore: state.notBefore }
    case 'running':
      return { ...blank, state: state.kind, startedAt: state.startedAt }
    case 'deferred':
      return {
        ...blank,
        state: state.kind,
        startedAt: state.startedAt,
        deadlineAt: state.deadlineAt,
      }
    case 'responded': {
      const { kind, response, respondedAt, responseTimeMs } = state
      return { ...blank, state: kind, response, finishedAt: respondedAt, responseTimeMs }
    }
    case 'failed':
      return {
        ...blank,
        state: state.kind,
        error: JSON.stringify(state.error),
        finishedAt: state.failedAt,
      }
    case 'cancelled':
      return { ...blank, state: state.kind, finishedAt: state.cancelledAt }
  }
}

/** The inverse of `stateColumns`: what a state has of its own is not null in its row. */
function toState(row: StateColumns): MessageState {
  const {
    state: kind,
    notBefore,
    startedAt,
    deadlineAt,
    finishedAt,
    responseTimeMs,
    response,
    error,
  } = row as {
    readonly [C in keyof StateColumns]: NonNullable<StateColumns[C]>
  }
  switch (kind) {
    case 'queued':
      return { kind, notBefore }
    case 'running':
      return { kind, startedAt }
    case 'deferred':
      return { kind, startedAt, deadlineAt }
    case 'responded':
      return { kind, response, respondedAt: finishedAt, responseTimeMs }
    case 'failed':
      return { kind, error: JSON.parse(error) as RunError, failedAt: finishedAt }
    case 'cancelled':
      return { kind, cancelledAt: finishedAt }
  }
}

const updateSql = sql<StateColumns & { readonly seq: number; readonly attempt: number }>(`
  update agent_messaging.messages set attempt = @attempt, state = @state, not_before = @notBefore, started_at = @startedAt,
    deadline_at = @deadlineAt, finished_at = @finishedAt, response_time_ms = @responseTimeMs, response = @response, error = @error
  where seq = @seq`)

/** Moves a message, whose session is locked, to another state. */
export const writeState = (
  db: Queries,
  seq: number,
  attempt: number,
  state: MessageState,
): Promise<number> => db.run(updateSql, { ...stateColumns(state), seq, attempt })
