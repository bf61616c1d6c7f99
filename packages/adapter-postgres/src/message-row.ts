import {
  assignments,
  inputsColumn,
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  MESSAGE_STATE,
  messageStateColumns,
  selectList,
  type MessageInput,
  type MessageRef,
  type MessageRow,
  type MessageState,
  type MessageStateColumns,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

/**
 * Append a `where`. The join hides messages whose session has no agent: erased ones, and messages
 * of deleted agents.
 */
export const fromMessages = `
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq
    join agent_messaging.agents a on a.id = s.agent_id`

export const selectMessage = `
  select ${selectList(MESSAGE_COLUMNS, 'm')}, ${selectList(MESSAGE_SESSION_COLUMNS, 's')},
    a.project_id as "projectId" ${fromMessages}`

export const messageById = sql<{ readonly messageId: string }, MessageRow>(
  `${selectMessage} where m.id = @messageId`,
)
export const messagesByIds = sql<{ readonly ids: readonly string[] }, MessageRow>(
  `${selectMessage} where m.id = any(@ids::text[])`,
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
