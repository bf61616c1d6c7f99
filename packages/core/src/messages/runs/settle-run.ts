import type { Agent } from '../../domain/agents/agent.js'
import { isStorableText } from '../../domain/values/json.js'
import { decideQuestion } from '../../domain/messages/input-decisions.js'
import type { Instant } from '../../domain/values/instant.js'
import {
  decideAfterRun,
  type Message,
  type AfterRun,
  type MessageState,
  type RunningMessage,
} from '../../domain/messages/message.js'
import type { AnswerParts } from '../../domain/messages/part.js'
import { MAX_QUESTIONS, parseQuestion } from '../../domain/messages/message-input.js'
import { pastRun, type PastRun } from '../../domain/messages/past-run.js'
import {
  failedRun,
  type EndedRun,
  type FinishedRun,
  type RunError,
} from '../../domain/messages/run.js'
import { structureProblem } from '../../domain/messages/response-schema.js'
import { success } from '../../ports/port-result.js'
import { retryUntilStored } from '../../pacing/retry-until-stored.js'
import { tracedCommit } from '../../pacing/traced-commit.js'
import { countOfEnd, countOfRun } from '../../domain/operations/counts.js'
import { parseRunUsage } from '../../domain/operations/usage.js'
import type { HeldRun, RecordedRun } from '../../ports/message-store.js'
import type { Stored } from '../../ports/stored.js'
import type { ActiveSpan } from '../../ports/tracing.js'
import type { Platform } from '../../platform.js'
import type { DeliverySender } from '../../webhooks/delivery-sender.js'
import { outgoingOf } from '../../webhooks/outbox.js'
import { newInputLink } from '../input-link.js'

export type SettleContext = Pick<
  Platform,
  | 'clock'
  | 'crypto'
  | 'eventNews'
  | 'ids'
  | 'policy'
  | 'publicUrl'
  | 'random'
  | 'signal'
  | 'stopDeadline'
  | 'storage'
  | 'telemetry'
  | 'tracing'
> & { readonly deliverySender: DeliverySender }

type UnsettledRun = {
  readonly held: HeldRun
  readonly message: RunningMessage
  readonly run: EndedRun
  /** Returns the parts of the answer, or undefined if the answer is only text. */
  readonly partsOf?: (response: string) => AnswerParts | undefined
  readonly agent: Pick<Agent, 'name' | 'maxAttempts'>
  /** False if the message ends without a run. */
  readonly isRun?: boolean
  /** The run that was lost before, if the message ends without another one. */
  readonly lostRun?: PastRun | undefined
  /** The span of the run. Default: the message's trace, for an answer by callback. */
  readonly cause?: Pick<ActiveSpan, 'trace'>
}

/**
 * Stores a run's outcome (answer, question, next attempt or failure) with its events and
 * deliveries, in one commit. Retries while the storage is unavailable and the service lives.
 * A late write is safe:
 * the lease's token must still be valid.
 */
export async function settleRun(
  context: SettleContext,
  {
    held,
    message,
    run,
    partsOf,
    agent,
    isRun = true,
    lostRun,
    cause = { trace: message.trace },
  }: UnsettledRun,
): Stored<RecordedRun> {
  const { clock, policy, random, storage, tracing } = context
  const now = clock.now()
  const { projectId, trace } = message
  const checked = checkedRun(run, message, policy.limits.responseLength)
  const { usage } = checked
  const ended = isRun ? pastRun(message, checked, now) : lostRun
  if (checked.kind === 'input_required') {
    const id = context.ids.next()
    const link = newInputLink(context, message.id)
    const { state, inputs, events } = decideQuestion(message, checked, { id, link }, now)
    const outgoing = outgoingOf(context, events, projectId, trace)
    const count = countOfRun(message, state, usage, now)
    const asking = { ...held, state, inputs, outgoing, ended, count }
    const written = await tracedCommit(tracing, cause, 'ask', () =>
      retryUntilStored(context, () => storage.messages.ask(asking)),
    )
    if (written.ok) tell(context, { agent, message, recorded: written.value, state, outgoing, now })
    return written
  }
  const retries = { maxAttempts: agent.maxAttempts, ...policy.dispatch }
  const decided = decideAfterRun(message, checked, retries, now, random.next())
  const { events } = decided
  const parts = checked.kind === 'answered' ? partsOf?.(checked.response) : undefined
  const state = parts ? withParts(decided.state) : decided.state
  const outgoing =
    events.length > 0 ? outgoingOf(context, events, projectId, trace, parts) : undefined
  const { messageId, token } = held
  const record = {
    messageId,
    token,
    state,
    now,
    count: isRun ? countOfRun(message, state, usage, now) : countOfEnd(message, state, now),
    outgoing,
    ended,
    parts,
  }
  const written = await tracedCommit(tracing, cause, 'recordRun', () =>
    retryUntilStored(context, () => storage.messages.recordRun(record)),
  )
  const error = checked.kind === 'failed' ? checked.error : undefined
  if (!written.ok) return written
  const recorded = parts ? tellingParts(written.value, parts) : written.value
  tell(context, { agent, isRun, message, recorded, state, outgoing, now, error })
  return success(recorded)
}

const withParts = (state: AfterRun): AfterRun =>
  state.kind === 'responded' ? { ...state, hasParts: true } : state

/** Callers and readers of this process get the parts without a read. */
const tellingParts = (recorded: RecordedRun, parts: AnswerParts): RecordedRun =>
  recorded.kind === 'recorded' ? { ...recorded, message: { ...recorded.message, parts } } : recorded

type StoredEnd = Pick<UnsettledRun, 'agent' | 'isRun' | 'message'> & {
  readonly recorded: RecordedRun
  readonly state: MessageState
  readonly outgoing: ReturnType<typeof outgoingOf> | undefined
  readonly now: Instant
  readonly error?: RunError | undefined
}

/** Tells telemetry, callers, readers of events and the delivery sender of a stored end. */
function tell(
  {
    deliverySender,
    eventNews,
    signal,
    telemetry,
  }: Pick<SettleContext, 'deliverySender' | 'eventNews' | 'signal' | 'telemetry'>,
  { agent, isRun = true, message, recorded, state, outgoing, now, error }: StoredEnd,
): void {
  const { id: messageId, projectId, agentId, attempt } = message
  const facts = { messageId, agentId, agentName: agent.name, attempt }
  if (recorded.kind === 'lease_lost') {
    telemetry.record({ name: 'run.refused', ...facts })
    return
  }
  telemetry.record({
    name: 'run.finished',
    ...facts,
    projectId,
    durationMs: Math.max(0, now - message.state.startedAt),
    state: state.kind,
    ...(!isRun && { isRun }),
    ...(state.kind === 'queued' && { nextRunAt: state.notBefore }),
    ...(error && { error: error.code, detail: error.message }),
  })
  signal.notify(recorded.message)
  if (outgoing) eventNews.committed(projectId)
  if (outgoing) deliverySender.take(recorded, outgoing.claim)
}

function checkedRun(given: EndedRun, message: RunningMessage, maxLength: number): EndedRun {
  const { usage: reported, ...run } = given
  const usage = parseRunUsage(reported)
  const checked = checkedOutcome(run, message, maxLength)
  return usage ? { ...checked, usage } : checked
}

function checkedOutcome(run: EndedRun, message: RunningMessage, maxLength: number): EndedRun {
  if (run.kind !== 'input_required') return checkedResponse(run, message, maxLength)
  const question = (message.inputs?.length ?? 0) < MAX_QUESTIONS ? parseQuestion(run) : TOO_MANY
  return typeof question === 'string'
    ? failedRun('QUESTION_INVALID', `the question ${question}`)
    : question
}

const TOO_MANY = `comes after ${MAX_QUESTIONS} others of this message`

function checkedResponse(run: FinishedRun, message: Message, maxLength: number): FinishedRun {
  const problem =
    run.kind === 'failed' ? undefined : responseProblem(run.response, message, maxLength)
  return problem === undefined ? run : failedRun('RESPONSE_INVALID', `the answer ${problem}`)
}

/** Returns why an answer cannot be stored, or undefined. */
export function responseProblem(
  response: unknown,
  { responseSchema }: Message,
  maxLength: number,
): string | undefined {
  if (typeof response !== 'string') return 'is not a string'
  if (response.length > maxLength) return `has more than ${maxLength} characters`
  if (!isStorableText(response)) return 'holds NUL or a lone surrogate'
  return responseSchema && structureProblem(responseSchema, response)
}
