import type { AnswerParts } from '@org/agent-messaging-core/runtime'
import {
  insertList,
  PARTS_COLUMNS,
  partsRow,
  selectList,
  toParts,
  type PartsRow,
} from '@org/agent-messaging-core/storage'
import { all, run, sql, type Operation } from './operation.js'

// The parts of answers. The database deletes them with their message.

const insert = sql<PartsRow>(
  ({ schema }) => `insert into ${schema}message_parts ${insertList(PARTS_COLUMNS)}`,
)
const ofMessages = sql<{ readonly ids: readonly string[] }, PartsRow>(
  ({ schema, oneOf }) => `
    select ${selectList(PARTS_COLUMNS)} from ${schema}message_parts
    where ${oneOf('message_id', 'ids')}`,
)

/** Stores the parts of the answer with which a run ends. */
export function* keepParts(messageId: string, parts: AnswerParts | undefined): Operation<void> {
  if (parts) yield* run(insert, partsRow(messageId, parts))
}

/** `MessageStore.parts`. */
export function* readParts(ids: readonly string[]): Operation<ReadonlyMap<string, AnswerParts>> {
  const rows = yield* all(ofMessages, { ids })
  return new Map(rows.map((row) => [row.messageId, toParts(row)]))
}
