import type { Reading } from '../platform.js'
import { err, ok, safeTry, type ResultAsync } from 'neverthrow'
import { ownPrincipal, type AccessRestricted, type ByAccess } from '../domain/access/access.js'
import { auditEntry, type AuditAction, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { deadlineCursor, deadlinePlace } from '../domain/messages/deadline-order.js'
import {
  deadlineOf,
  decideAnswer,
  decideWithdrawal,
  isAsking,
  openInput,
  type AnswerRefusal,
} from '../domain/messages/input-decisions.js'
import { invalid, type Invalid } from '../domain/values/input-rules.js'
import { countOfEnd } from '../domain/operations/counts.js'
import type { EventPayload } from '../domain/webhooks/event.js'
import type { Instant } from '../domain/values/instant.js'
import type { Message } from '../domain/messages/message.js'
import type { MessageInput } from '../domain/messages/message-input.js'
import {
  principalProblem,
  type ExecutionPrincipal,
  type PrincipalError,
} from '../domain/access/principal.js'
import type { AfterInput, InputChanged } from '../ports/message-store.js'
import type { PageInput } from '../domain/values/page-rules.js'
import { outgoingOf } from '../webhooks/outbox.js'
import type { CancelContext } from './change-messages.js'
import { searchOf } from './scoped-lists.js'
import { getMessage, pageOfText, type GetMessageError, type MessageReads } from './read-messages.js'
import { chain, type Chained } from '../pacing/chain.js'

export type InputRef = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  /** The id of the message. */
  readonly messageId: string
  /** The id of the question. */
  readonly inputId: string
}
export type AnswerInputInput = InputRef &
  ByActor &
  ByAccess & {
    /** The answer, in the form of the question's schema: text if the question has none. */
    readonly value: unknown
    /** The principal that answers, unparsed. Default: the service. */
    readonly executionPrincipal?: unknown
  }
type InputError = { readonly kind: 'input_not_found' | 'input_closed' }
export type AnswerInputError =
  | GetMessageError
  | Invalid
  | AccessRestricted
  | InputError
  | Extract<PrincipalError, { kind: 'principal_invalid' }>
  | { readonly kind: 'input_restricted' }

export const answerInput = (d: MessageReads & CancelContext) => (input: AnswerInputInput) =>
  safeTry(async function* () {
    const principal = ownPrincipal(input.access, input.executionPrincipal)
    if (principal.isErr()) return err(principal.error)
    const executionPrincipal = principal.value ?? { type: 'service' }
    const reason = principalProblem(executionPrincipal)
    if (reason !== undefined)
      return err({ kind: 'principal_invalid', reason, endUserIdMissing: false } as const)
    const message = yield* getMessage(d)(input)
    return answerFound(d, message, {
      ...input,
      executionPrincipal: executionPrincipal as ExecutionPrincipal,
    })
  })

type GivenAnswer = ByActor & {
  readonly inputId: string
  readonly value: unknown
  readonly executionPrincipal: ExecutionPrincipal
}

/** Answers a question of a message that was read before. */
export const answerFound = (
  d: CancelContext,
  message: Message,
  given: GivenAnswer,
): ResultAsync<Message, AnswerInputError> =>
  safeTry(async function* () {
    const decided = decideAnswer(message, given, d.clock.now())
    if ('kind' in decided) return refusalOf(decided, message)
    const { inputId, actor } = given
    const changed = yield* changeInput(d, {
      message,
      inputId,
      to: 'answered',
      action: 'input.answered',
      actor,
      ...decided,
    })
    if (!changed) return fail('message_not_found')
    if (changed.kind === 'changed') return ok(changed.message)
    const after = decideAnswer(changed.message, given, d.clock.now())
    return 'kind' in after ? refusalOf(after, changed.message) : fail('input_closed')
  })

function refusalOf(refusal: AnswerRefusal, message: Message) {
  switch (refusal.kind) {
    case 'repeated':
      return ok(message)
    case 'invalid':
      return invalid('value', refusal.problem)
    case 'not_found':
      return fail('input_not_found')
    case 'closed':
      return fail('input_closed')
    case 'restricted':
      return fail('input_restricted')
  }
}

export const withdrawInput =
  (d: MessageReads & CancelContext) =>
  ({ inputId, actor, ...ref }: InputRef & ByActor) =>
    safeTry(async function* () {
      const message = yield* getMessage(d)(ref)
      const input = message.inputs?.find(({ id }) => id === inputId)
      if (!input) return fail('input_not_found')
      if (!isAsking(message) || openInput(message)?.id !== inputId)
        return isWithdrawn(message, input) ? ok(message) : fail('input_closed')
      const decided = decideWithdrawal(message, d.clock.now())
      const changed = yield* changeInput(d, {
        message,
        inputId,
        to: 'withdrawn',
        action: 'input.withdrawn',
        actor,
        ...decided,
      })
      if (!changed) return fail('message_not_found')
      return changed.kind === 'changed' || isWithdrawn(changed.message, input)
        ? ok(changed.message)
        : fail('input_closed')
    })

const isWithdrawn = ({ state, inputs }: Message, { id }: MessageInput): boolean =>
  state.kind === 'failed' && state.error.code === 'INPUT_WITHDRAWN' && inputs?.at(-1)?.id === id

export type ListInputsInput = ByAccess &
  PageInput & {
    readonly projectId: string
    /** Only messages of the agent with this id or name. */
    readonly agent?: string | undefined
    /** Only messages of this session. */
    readonly sessionId?: string | undefined
    /** Only messages of this end user. */
    readonly endUserId?: string | undefined
  }

export const listInputs =
  (d: Reading) =>
  ({ limit, cursor, ...asked }: ListInputsInput) =>
    searchOf(d, asked).andThen((search) =>
      pageOfText({ limit, cursor }, (part) => d.storage.messages.listAsking(search, part), {
        cursorOf: (message) => deadlineCursor(deadlineOf(message), message.id),
        isCursor: (one) => deadlinePlace(one) !== undefined,
      }),
    )

type Change = ByActor & {
  readonly message: Message
  readonly inputId: string
  readonly dueAt?: Instant
  readonly state: AfterInput
  readonly inputs: readonly MessageInput[]
  readonly events: readonly EventPayload[]
  readonly to: 'answered' | 'withdrawn' | 'expired' | 'reminded'
  /** Absent if the service itself makes the change. */
  readonly action?: AuditAction
}

/** Stores a change of a message that waits for an answer, and wakes its readers. */
export const changeInput = (
  d: CancelContext,
  { message, inputId, dueAt, state, inputs, events, to, action, actor }: Change,
): Chained<InputChanged | undefined> => {
  const { id: messageId, projectId, agentId, trace } = message
  const outgoing = outgoingOf(d, events, projectId, trace)
  const due = dueAt === undefined ? {} : { dueAt }
  const audit = action && auditEntry(d, { projectId, action, targetId: messageId, actor })
  const now = d.clock.now()
  return chain(
    d.storage.messages.changeInput({
      ...{ projectId, agentId, messageId, inputId, state, inputs, now, outgoing },
      ...due,
      ...(state.kind === 'failed' && { count: countOfEnd(message, state, now) }),
      audit,
    }),
  ).map((changed) => {
    if (changed?.kind !== 'changed') return changed
    d.telemetry.record({ name: 'input.changed', messageId, agentId, projectId, inputId, to })
    d.signal.notify(changed.message)
    d.eventNews.committed(projectId)
    d.deliverySender.take(changed, outgoing.claim)
    if (changed.sessionWaits) d.dispatcher.wake(agentId)
    return changed
  })
}
