import { openInput } from '../domain/messages/input-decisions.js'
import type { Instant } from '../domain/values/instant.js'
import type { JsonObject } from '../domain/values/json.js'
import type { Message, MessageState } from '../domain/messages/message.js'
import type { MessageInput } from '../domain/messages/message-input.js'
import type { ExecutionPrincipal } from '../domain/access/principal.js'
import type { RunError } from '../domain/messages/run.js'
import type { RunUsage } from '../domain/operations/usage.js'
import { toTrace } from './rows.js'

/** A message without its state. */
export type MessageFacts = {
  readonly id: string
  readonly projectId: string
  readonly agentId: string
  readonly sessionId: string
  readonly message: string
  /** `inputParts` and `responseSchema`, which most messages do not have. */
  readonly request: string | null
  readonly metadata: string | null
  readonly principal: string
  readonly fingerprint: string | null
  readonly trace: string | null
  readonly attempt: number
  readonly inputs: string | null
  readonly createdAt: number
}

/** The columns of other states are null. */
export type MessageStateColumns = {
  readonly state: MessageState['kind']
  readonly notBefore: number | null
  readonly startedAt: number | null
  readonly deadlineAt: number | null
  readonly finishedAt: number | null
  readonly responseTimeMs: number | null
  readonly response: string | null
  readonly error: string | null
  readonly inputDueAt: number | null
  readonly usage: string | null
  /** 1 or null. */
  readonly hasParts: number | null
}

/** A message with its session's head and lease, and with its agent's project. */
export type MessageRow = MessageFacts &
  MessageStateColumns & {
    readonly seq: number
    readonly sessionSeq: number
    readonly position: number
    readonly headPosition: number
    readonly lease: number
    /** Counts the changes of the message's hooks. Null if the message never had one. */
    readonly hookVersion: number | null
  }

/** The columns that a change of state writes. */
export const MESSAGE_STATE = [
  'state',
  'notBefore',
  'startedAt',
  'deadlineAt',
  'finishedAt',
  'responseTimeMs',
  'response',
  'error',
  'inputDueAt',
  'usage',
  'hasParts',
] as const satisfies readonly (keyof MessageStateColumns)[]
/** The columns that are in the table of messages. */
export const MESSAGE_COLUMNS = [
  'seq',
  'id',
  'agentId',
  'sessionSeq',
  'position',
  'message',
  'request',
  'metadata',
  'principal',
  'fingerprint',
  'trace',
  'attempt',
  'inputs',
  'createdAt',
  ...MESSAGE_STATE,
  'hookVersion',
] as const satisfies readonly (keyof MessageRow)[]
/** The columns of a message row that are in the table of sessions. */
export const MESSAGE_SESSION_COLUMNS = [
  'sessionId',
  'headPosition',
  'lease',
] as const satisfies readonly (keyof MessageRow)[]

type Requested = Pick<Message, 'inputParts' | 'responseSchema'>

export const requestColumn = ({ inputParts, responseSchema }: Requested): string | null =>
  inputParts || responseSchema ? JSON.stringify({ inputParts, responseSchema }) : null

export const inputsColumn = (inputs: readonly MessageInput[]): string => JSON.stringify(inputs)

/** True if the message waits for the answer to this question, and for this due time if given. */
export function isWaitingFor(
  message: Message,
  { inputId, dueAt }: { readonly inputId: string; readonly dueAt?: Instant },
): boolean {
  const { state } = message
  if (state.kind !== 'input_required' || openInput(message)?.id !== inputId) return false
  return dueAt === undefined || dueAt === state.dueAt
}

/** One literal, because V8 gives an object made by spreading another one a large hidden class. */
export const messageOf = <S extends MessageState>(
  row: MessageFacts,
  state: S,
  attempt = row.attempt,
): Message & { readonly state: S } => ({
  id: row.id,
  projectId: row.projectId,
  agentId: row.agentId,
  sessionId: row.sessionId,
  message: row.message,
  ...(row.request !== null && (JSON.parse(row.request) as Requested)),
  ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as JsonObject }),
  executionPrincipal: JSON.parse(row.principal) as ExecutionPrincipal,
  ...(row.fingerprint !== null && { fingerprint: row.fingerprint }),
  ...toTrace(row.trace),
  attempt,
  ...(row.inputs !== null && { inputs: JSON.parse(row.inputs) as MessageInput[] }),
  state,
  createdAt: row.createdAt,
})

export const toMessage = (row: MessageFacts & MessageStateColumns): Message =>
  messageOf(row, toState(row))

export function messageStateColumns(state: MessageState): MessageStateColumns {
  const columns: Writable<MessageStateColumns> = {
    state: state.kind,
    notBefore: null,
    startedAt: null,
    deadlineAt: null,
    finishedAt: null,
    responseTimeMs: null,
    response: null,
    error: null,
    inputDueAt: null,
    usage: null,
    hasParts: null,
  }
  switch (state.kind) {
    case 'queued':
      columns.notBefore = state.notBefore
      break
    case 'running':
      columns.startedAt = state.startedAt
      break
    case 'deferred':
      columns.startedAt = state.startedAt
      columns.deadlineAt = state.deadlineAt
      break
    case 'input_required':
      columns.startedAt = state.askedAt
      columns.deadlineAt = state.deadlineAt
      columns.inputDueAt = state.dueAt
      break
    case 'responded':
      columns.response = state.response
      columns.responseTimeMs = state.responseTimeMs
      columns.finishedAt = state.respondedAt
      if (state.usage) columns.usage = JSON.stringify(state.usage)
      if (state.hasParts) columns.hasParts = 1
      break
    case 'failed':
      columns.error = JSON.stringify(state.error)
      columns.finishedAt = state.failedAt
      break
    case 'cancelled':
      columns.finishedAt = state.cancelledAt
  }
  return columns
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Reads the columns that `messageStateColumns` wrote. The columns of the state are not null. */
function toState(row: MessageStateColumns): MessageState {
  const kind = row.state
  const startedAt = row.startedAt as number
  const finishedAt = row.finishedAt as number
  switch (kind) {
    case 'queued':
      return { kind, notBefore: row.notBefore as number }
    case 'running':
      return { kind, startedAt }
    case 'deferred':
      return { kind, startedAt, deadlineAt: row.deadlineAt as number }
    case 'input_required':
      return {
        kind,
        askedAt: startedAt,
        deadlineAt: row.deadlineAt as number,
        dueAt: row.inputDueAt as number,
      }
    case 'responded':
      return {
        kind,
        response: row.response as string,
        respondedAt: finishedAt,
        responseTimeMs: row.responseTimeMs as number,
        ...(row.usage !== null && { usage: JSON.parse(row.usage) as RunUsage }),
        ...(row.hasParts !== null && { hasParts: true }),
      }
    case 'failed':
      return { kind, error: JSON.parse(row.error as string) as RunError, failedAt: finishedAt }
    case 'cancelled':
      return { kind, cancelledAt: finishedAt }
  }
}
