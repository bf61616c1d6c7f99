import {
  assignments,
  inputsColumn,
  MESSAGE_STATE,
  messageStateColumns,
  type MessageInput,
  type MessageRef,
  type MessageRow,
  type MessageState,
  type MessageStateColumns,
} from '@org/agent-messaging-core/storage'
import { selectMessage as messageSelect } from '@org/agent-messaging-sql-kit'
import type { Queries } from './database.js'
import { dialect } from './operations.js'
import { sql } from './sql.js'

/** Append a `where`. */
export const selectMessage = messageSelect(dialect)

export const messageById = sql<{ readonly messageId: string }, MessageRow>(
  `${selectMessage} where m.id = @messageId`,
)
export const messageByRef = sql<MessageRef, MessageRow>(
  `${selectMessage} where m.id = @messageId and m.agent_id = @agentId and a.project_id = @projectId`,
)

const updateSql = sql<MessageStateColumns & { readonly seq: number; readonly attempt: number }>(`
  update agent_messaging.messages set attempt = @attempt, ${assignments(MESSAGE_STATE)}
  where seq = @seq`)

/** Moves a message to another state. Its session must be locked. */
export const writeState = (
  db: Queries,
  seq: number,
  attempt: number,
  state: MessageState,
): Promise<number> => db.run(updateSql, { ...messageStateColumns(state), seq, attempt })

const writeInputsSql = sql<{ readonly seq: number; readonly inputs: string | null }>(
  'update agent_messaging.messages set inputs = @inputs where seq = @seq',
)

/** Writes the questions of a message, or deletes them. Its session must be locked. */
export const writeInputs = (
  db: Queries,
  seq: number,
  inputs: readonly MessageInput[] | undefined,
): Promise<number> => db.run(writeInputsSql, { seq, inputs: inputs ? inputsColumn(inputs) : null })
