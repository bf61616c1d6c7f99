import { ok, type Result } from 'neverthrow'
import { isStorableText } from '../domain/json.js'
import { decideAfterRun, type RunningMessage } from '../domain/message.js'
import { MAX_QUESTIONS, parseQuestion } from '../domain/message-input.js'
import { failedRun, type EndedRun, type FinishedRun } from '../domain/run.js'
import { retryUntilStored } from '../pacing/retry-until-stored.js'
import { tracedCommit } from '../pacing/traced-commit.js'
import { parseRunUsage, usageOfRun } from '../domain/usage.js'
import type { HeldRun, RecordedRun } from '../ports/message-store.js'
import type { Unavailable } from '../ports/stored.js'
import type { ActiveSpan } from '../ports/tracing.js'
import { outgoingOf } from '../webhooks/outbox.js'
import { askPerson } from './ask-person.js'
import type { RunContext } from './run-context.js'

type UnsettledRun = {
  readonly held: HeldRun
  readonly message: RunningMessage
  readonly run: EndedRun
  readonly maxAttempts: number
  /** False if the message ends without a run. */
  readonly isRun?: boolean
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
  context: RunContext,
  { held, message, run, maxAttempts, isRun = true, cause = { trace: message.trace } }: UnsettledRun,
): Promise<Result<RecordedRun, Unavailable>> {
  const { clock, deliverySender, eventNews, policy, random, signal, storage, telemetry } = context
  const now = clock.now()
  const checked = checkedRun(run, message, policy.limits.responseLength)
  if (checked.kind === 'input_required')
    return askPerson(context, { held, message, run: checked, cause })
  const retries = { maxAttempts, ...policy.dispatch }
  const { state, events } = decideAfterRun(message, checked, retries, now, random.next())
  const { projectId, trace } = message
  const outgoing = events.length > 0 ? outgoingOf(context, events, projectId, trace) : undefined
  const { messageId, token } = held
  const usage = policy.quotas && isRun ? usageOfRun(projectId, checked, now) : undefined
  const record = {
    messageId,
    token,
    state,
    now,
    ...(outgoing && { outgoing }),
    ...(usage && { usage }),
  }
  const writing = tracedCommit(context.tracing, cause, 'recordRun', () =>
    retryUntilStored(context, () => storage.messages.recordRun(record)),
  )
  const written = await writing
  if (written.isErr()) return written
  const recorded = written.value
  const facts = { messageId: message.id, agentId: message.agentId, attempt: message.attempt }
  if (recorded.kind === 'lease_lost') {
    telemetry.record({ name: 'run.refused', ...facts })
    return ok(recorded)
  }
  telemetry.record({
    name: 'run.finished',
    ...facts,
    projectId,
    durationMs: Math.max(0, now - message.state.startedAt),
    state: state.kind,
    ...(state.kind === 'queued' && { nextRunAt: state.notBefore }),
    ...(checked.kind === 'failed' && {
      error: checked.error.code,
      detail: checked.error.message,
    }),
  })
  signal.notify(recorded.message)
  if (outgoing) eventNews.committed(message.projectId)
  if (outgoing) deliverySender.take(recorded, outgoing.claim)
  return ok(recorded)
}

function checkedRun(given: EndedRun, message: RunningMessage, maxLength: number): EndedRun {
  const { usage: reported, ...run } = given
  const usage = parseRunUsage(reported)
  const checked = checkedOutcome(run, message, maxLength)
  return usage ? { ...checked, usage } : checked
}

function checkedOutcome(run: EndedRun, message: RunningMessage, maxLength: number): EndedRun {
  if (run.kind !== 'input_required') return checkedResponse(run, maxLength)
  const question = (message.inputs?.length ?? 0) < MAX_QUESTIONS ? parseQuestion(run) : TOO_MANY
  return typeof question === 'string'
    ? failedRun('QUESTION_INVALID', `the question ${question}`)
    : question
}

const TOO_MANY = `comes after ${MAX_QUESTIONS} others of this message`

function checkedResponse(run: FinishedRun, maxLength: number): FinishedRun {
  const problem = run.kind === 'failed' ? undefined : responseProblem(run.response, maxLength)
  return problem === undefined ? run : failedRun('RESPONSE_INVALID', `the answer ${problem}`)
}

/** Returns why an answer cannot be stored, or undefined. */
export function responseProblem(response: unknown, maxLength: number): string | undefined {
  if (typeof response !== 'string') return 'is not a string'
  if (response.length > maxLength) return `has more than ${maxLength} characters`
  return isStorableText(response) ? undefined : 'holds NUL or a lone surrogate'
}
