import type { Database, Statement } from 'better-sqlite3'
import type {
  ExecutionPrincipal,
  JsonObject,
  Message,
  MessageRef,
  MessageState,
  RunError,
} from '@org/agent-messaging-core/storage'
import { toTrace } from './trace.js'

/** A message with its session's lease and its agent's project. */
export type MessageRow = StateColumns & {
  readonly seq: number
  readonly id: string
  readonly projectId: string
  readonly agentId: string
  readonly sessionSeq: number
  readonly sessionId: string
  readonly position: number
  readonly headPosition: number
  readonly lease: number
  readonly message: string
  readonly metadata: string | null
  readonly principal: string
  readonly fingerprint: string | null
  readonly trace: string | null
  readonly attempt: number
  readonly createdAt: number
}

/** Columns of other states are null. */
type StateColumns = {
  readonly state: MessageState['kind']
  readonly notBefore: number | null
  readonly startedAt: number | null
  readonly deadlineAt: number | null
  readonly finishedAt: number | null
  readonly responseTimeMs: number | null
  readonly response: string | null
  readonly error: string | null
}

/** Append a `where`. The join hides erased messages and those of deleted agents, whose session has no agent. */
export const selectMessage = `
  select m.seq, m.id, a.project_id as projectId, m.agent_id as agentId, m.session_seq as sessionSeq, s.session_id as sessionId,
    m.position, s.head_position as headPosition, s.lease, m.message, m.metadata, m.principal, m.fingerprint, m.trace, m.attempt,
    m.state, m.not_before as notBefore, m.started_at as startedAt, m.deadline_at as deadlineAt, m.finished_at as finishedAt,
    m.response_time_ms as responseTimeMs, m.response, m.error, m.created_at as createdAt
  from messages m join sessions s on s.seq = m.session_seq join agents a on a.id = s.agent_id`

/** The values of `selectMessage`, by their places. */
type MessageValues = [
  ...[
    number,
    string,
    string,
    string,
    number,
    string,
    number,
    number,
    number,
    string,
    string | null,
    string,
    string | null,
  ],
  ...[
    string | null,
    number,
    MessageState['kind'],
    number | null,
    number | null,
    number | null,
    number | null,
    number | null,
  ],
  ...[string | null, string | null, number],
]

/** Each send reads a message by its id. Objects made by the driver cost three times as much as arrays. */
export function messageById(db: Database): (id: string) => MessageRow | undefined {
  const select = db.prepare<[string], MessageValues>(`${selectMessage} where m.id = ?`).raw()
  return (id) => {
    const values = select.get(id)
    return values && toRow(values)
  }
}

const toRow = (values: MessageValues): MessageRow => ({
  seq: values[0],
  id: values[1],
  projectId: values[2],
  agentId: values[3],
  sessionSeq: values[4],
  sessionId: values[5],
  position: values[6],
  headPosition: values[7],
  lease: values[8],
  message: values[9],
  metadata: values[10],
  principal: values[11],
  fingerprint: values[12],
  trace: values[13],
  attempt: values[14],
  state: values[15],
  notBefore: values[16],
  startedAt: values[17],
  deadlineAt: values[18],
  finishedAt: values[19],
  responseTimeMs: values[20],
  response: values[21],
  error: values[22],
  createdAt: values[23],
})

export const messageByRef = (db: Database): Statement<[MessageRef], MessageRow> =>
  db.prepare(
    `${selectMessage} where m.id = @messageId and m.agent_id = @agentId and a.project_id = @projectId`,
  )

export const toMessage = (row: MessageRow): Message => ({
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
  state: toState(row),
  createdAt: row.createdAt,
})

type StateValues = (string | number | null)[]

/** In the order of `StateColumns`. */
function stateValues(state: MessageState): StateValues {
  switch (state.kind) {
    case 'queued':
      return [state.kind, state.notBefore, null, null, null, null, null, null]
    case 'running':
      return [state.kind, null, state.startedAt, null, null, null, null, null]
    case 'deferred':
      return [state.kind, null, state.startedAt, state.deadlineAt, null, null, null, null]
    case 'responded':
      return [
        state.kind,
        null,
        null,
        null,
        state.respondedAt,
        state.responseTimeMs,
        state.response,
        null,
      ]
    case 'failed':
      return [state.kind, null, null, null, state.failedAt, null, null, JSON.stringify(state.error)]
    case 'cancelled':
      return [state.kind, null, null, null, state.cancelledAt, null, null, null]
  }
}

/** Reads the columns that `stateValues` wrote. The columns of the state are not null. */
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

/** Moves a message to another state. */
export function stateWriter(
  db: Database,
): (seq: number, attempt: number, state: MessageState) => void {
  const update = db.prepare<[StateValues]>(`
    update messages set state = ?, not_before = ?, started_at = ?, deadline_at = ?, finished_at = ?, response_time_ms = ?, response = ?,
      error = ?, attempt = ? where seq = ?`)
  return (seq, attempt, state) => {
    const values = stateValues(state)
    values.push(attempt, seq)
    update.run(values)
  }
}
