import type { MessageRun } from '@org/agent-messaging-core'
import {
  insertList,
  MOST_PAST_RUNS,
  PAST_RUN_COLUMNS,
  pastRunRow,
  runsOf,
  selectList,
  toMessage,
  toPastRun,
  type MessageRef,
  type PastRun,
  type PastRunRow,
} from '@org/agent-messaging-core/storage'
import { atMost } from './dialect.js'
import { messageByRef } from './message-lists.js'
import { all, one, run, sql, type Operation } from './operation.js'

// Runs that ended without an answer. The database deletes them with their message.

const insert = sql<PastRunRow>(
  ({ schema }) => `insert into ${schema}past_runs ${insertList(PAST_RUN_COLUMNS)}`,
)
const newest = sql<Pick<MessageRef, 'messageId'> & { readonly rows: number }, PastRunRow>(
  ({ schema }) => `
    select ${selectList(PAST_RUN_COLUMNS)} from ${schema}past_runs
    where message_id = @messageId order by seq desc ${atMost('@rows')}`,
)

/** Stores the run with which an operation ends. */
export function* keepRun(messageId: string, ended: PastRun | undefined): Operation<void> {
  if (ended) yield* run(insert, pastRunRow(messageId, ended))
}

/** `MessageStore.runs`. Reads the message last, so that no run is there twice. */
export function* readRuns(ref: MessageRef): Operation<MessageRun[] | undefined> {
  const rows = yield* all(newest, { messageId: ref.messageId, rows: MOST_PAST_RUNS })
  const row = yield* one(messageByRef, ref)
  return row && runsOf(toMessage(row), rows.toReversed().map(toPastRun))
}
