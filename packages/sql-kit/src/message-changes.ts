import {
  assignments,
  inputsColumn,
  interruptedRun,
  isFinal,
  isRetryable,
  isWaitingFor,
  MESSAGE_STATE,
  messageOf,
  messageStateColumns,
  toMessage,
  type Cancellation,
  type Cancelled,
  type InputChange,
  type InputChanged,
  type MessageInput,
  type MessageRef,
  type MessageRow,
  type MessageState,
  type MessageStateColumns,
  type MessageStore,
  type Outgoing,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { appendCounts } from './counts.js'
import { messageByRef } from './message-lists.js'
import { one, run, sql, type Operation, type Runner } from './operation.js'
import { keepRun } from './past-runs.js'
import { agentOf, requeue } from './retried-messages.js'
import { advance, holdUntil, lockSessionsOf, skip } from './sessions.js'

// Changes of a message by a caller, whether or not a process runs the message.

type Seq = { readonly seq: number }

const setState = sql<MessageStateColumns & Seq & { readonly attempt: number }>(
  ({ schema }) => `
    update ${schema}messages set attempt = @attempt, ${assignments(MESSAGE_STATE)}
    where seq = @seq`,
)
const setInputs = sql<Seq & { readonly inputs: string | null }>(
  ({ schema }) => `update ${schema}messages set inputs = @inputs where seq = @seq`,
)
const setMetadata = sql<Seq & { readonly metadata: string }>(
  ({ schema }) => `update ${schema}messages set metadata = @metadata where seq = @seq`,
)

/** Moves a message to another state. Its session must be locked. */
export const writeState = (seq: number, attempt: number, state: MessageState): Operation<number> =>
  run(setState, { ...messageStateColumns(state), seq, attempt })

/** Writes the questions of a message, or deletes them. Its session must be locked. */
export const writeInputs = (
  seq: number,
  inputs: readonly MessageInput[] | undefined,
): Operation<number> => run(setInputs, { seq, inputs: inputs ? inputsColumn(inputs) : null })

function* lockedMessage(ref: MessageRef): Operation<MessageRow | undefined> {
  yield* lockSessionsOf(ref.messageId)
  return yield* one(messageByRef, ref)
}

const NONE = { deliveries: [], skipped: [] }
/** The result of a change. The adapter stores its event, and puts the deliveries into it. */
export type Changed<T> = {
  readonly result: T
  readonly event?: readonly [outgoing: Outgoing, row: MessageRow]
}

/** `MessageStore.cancel`. */
export function* cancelMessage(
  cancellation: Cancellation,
): Operation<Changed<Cancelled | undefined>> {
  const { state, outgoing, audit } = cancellation
  const row = yield* lockedMessage(cancellation)
  if (!row) return { result: undefined }
  const message = toMessage(row)
  if (isFinal(message.state)) return { result: { kind: 'already_final', message } }
  yield* writeState(row.seq, row.attempt, state)
  yield* keepRun(row.id, interruptedRun(message, state.cancelledAt, 'cancelled'))
  const sessionWaits = yield* row.position === row.headPosition
    ? advance(row.sessionSeq, state.cancelledAt)
    : skip(row.sessionSeq)
  yield* appendCounts(cancellation.count)
  yield* record(audit)
  const cancelled = { ...message, state }
  return {
    result: { kind: 'cancelled', message: cancelled, ...NONE, sessionWaits },
    event: [outgoing, row],
  }
}

/** `MessageStore.changeInput`. */
export function* changeInput(change: InputChange): Operation<Changed<InputChanged | undefined>> {
  const { state, inputs, now, outgoing, audit } = change
  const row = yield* lockedMessage(change)
  if (!row) return { result: undefined }
  const message = toMessage(row)
  if (!isWaitingFor(message, change)) return { result: { kind: 'not_waiting', message } }
  yield* writeState(row.seq, row.attempt, state)
  yield* writeInputs(row.seq, inputs)
  if (state.kind === 'queued') yield* holdUntil(row.sessionSeq, state.notBefore)
  const sessionWaits =
    state.kind === 'queued' || (state.kind === 'failed' && (yield* advance(row.sessionSeq, now)))
  yield* appendCounts(change.count)
  yield* record(audit)
  const changed = messageOf({ ...row, inputs: inputsColumn(inputs) }, state)
  return {
    result: { kind: 'changed', message: changed, ...NONE, sessionWaits },
    event: [outgoing, row],
  }
}

export const messageChanges = ({ write }: Runner): Pick<MessageStore, 'retry' | 'setMetadata'> => ({
  retry: write(function* ({ now, audit, ...ref }) {
    const agent = yield* one(agentOf, ref)
    const row = yield* lockedMessage(ref)
    if (!row) return undefined
    if (!isRetryable(toMessage(row).state)) return { kind: 'not_retryable' }
    if (agent?.state !== 'running') return { kind: 'agent_not_running' }
    if ((yield* requeue(row, now, agent.maxQueued)) === undefined) return { kind: 'session_full' }
    const state = { kind: 'queued', notBefore: now } as const
    yield* record(audit)
    return { kind: 'retried', message: messageOf({ ...row, inputs: null }, state, 0) }
  }),
  setMetadata: write(function* ({ metadata, ...ref }) {
    const row = yield* lockedMessage(ref)
    if (!row) return undefined
    yield* run(setMetadata, { seq: row.seq, metadata: JSON.stringify(metadata) })
    return { ...toMessage(row), metadata }
  }),
})
