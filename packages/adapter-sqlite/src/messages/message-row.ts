import type { Database } from 'better-sqlite3'
import {
  messageStateColumns,
  type MESSAGE_COLUMNS,
  type MESSAGE_SESSION_COLUMNS,
  type MessageRow,
  type MessageState,
} from '@org/agent-messaging-core/storage'
import { selectMessage as messageSelect } from '@org/agent-messaging-sql-kit'
import { dialect } from '../database/operations.js'

/**
 * Append a `where`. Write `+?` for a bound value: with a plain `?`, this join costs ten times as
 * much in better-sqlite3 13 (docs/decisions/0028).
 */
export const selectMessage = messageSelect(dialect)

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
  const select = db.prepare<[string], MessageValues>(`${selectMessage} where m.id = +?`).raw()
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
  request: values[6],
  metadata: values[7],
  principal: values[8],
  fingerprint: values[9],
  trace: values[10],
  attempt: values[11],
  inputs: values[12],
  createdAt: values[13],
  state: values[14],
  notBefore: values[15],
  startedAt: values[16],
  deadlineAt: values[17],
  finishedAt: values[18],
  responseTimeMs: values[19],
  response: values[20],
  error: values[21],
  inputDueAt: values[22],
  usage: values[23],
  hasParts: values[24],
  hookVersion: values[25],
  sessionId: values[26],
  headPosition: values[27],
  lease: values[28],
  projectId: values[29],
})

/** Moves a message to another state. Binding values by place is faster than by name. */
export function stateWriter(
  db: Database,
): (seq: number, attempt: number, state: MessageState) => void {
  const update = db.prepare(`
    update messages set state = ?, not_before = ?, started_at = ?, deadline_at = ?, finished_at = ?, response_time_ms = ?, response = ?,
      error = ?, input_due_at = ?, usage = ?, has_parts = ?, attempt = ? where seq = ?`)
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
      columns.inputDueAt,
      columns.usage,
      columns.hasParts,
      attempt,
      seq,
    )
  }
}
