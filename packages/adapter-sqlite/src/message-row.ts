import type { Database, Statement } from 'better-sqlite3'
import {
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  messageStateColumns,
  selectList,
  type MessageRef,
  type MessageRow,
  type MessageState,
} from '@org/agent-messaging-core/storage'

/**
 * Append a `where`. The join hides erased messages and messages of deleted agents, whose session
 * has no agent.
 */
export const selectMessage = `
  select ${selectList(MESSAGE_COLUMNS, 'm')}, ${selectList(MESSAGE_SESSION_COLUMNS, 's')}, a.project_id as projectId
  from messages m join sessions s on s.seq = m.session_seq join agents a on a.id = s.agent_id`

type Selected = readonly [...typeof MESSAGE_COLUMNS, ...typeof MESSAGE_SESSION_COLUMNS, 'projectId']
type MessageValues = {
  -readonly [I in keyof Selected]: Selected[I] extends keyof MessageRow
    ? MessageRow[Selected[I]]
    : never
}

/**
 * Each send reads a message by its id. An object made by the driver costs three times as much as an
 * array.
 */
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
  agentId: values[2],
  sessionSeq: values[3],
  position: values[4],
  message: values[5],
  metadata: values[6],
  principal: values[7],
  fingerprint: values[8],
  trace: values[9],
  attempt: values[10],
  createdAt: values[11],
  state: values[12],
  notBefore: values[13],
  startedAt: values[14],
  deadlineAt: values[15],
  finishedAt: values[16],
  responseTimeMs: values[17],
  response: values[18],
  error: values[19],
  sessionId: values[20],
  headPosition: values[21],
  lease: values[22],
  projectId: values[23],
})

export const messageByRef = (db: Database): Statement<[MessageRef], MessageRow> =>
  db.prepare(
    `${selectMessage} where m.id = @messageId and m.agent_id = @agentId and a.project_id = @projectId`,
  )

/** Moves a message to another state. Binding values by place is faster than by name. */
export function stateWriter(
  db: Database,
): (seq: number, attempt: number, state: MessageState) => void {
  const update = db.prepare(`
    update messages set state = ?, not_before = ?, started_at = ?, deadline_at = ?, finished_at = ?, response_time_ms = ?, response = ?,
      error = ?, attempt = ? where seq = ?`)
  return (seq, attempt, state) => {
    const columns = messageStateColumns(state)
    update.run(
      columns.state,
      columns.notBefore,
      columns.startedAt,
      columns.deadlineAt,
      columns.finishedAt,
      columns.responseTimeMs,
      columns.response,
      columns.error,
      attempt,
      seq,
    )
  }
}
