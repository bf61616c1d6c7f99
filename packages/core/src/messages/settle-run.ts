import { ok, type Result } from 'neverthrow'
import { isStorableText } from '../domain/json.js'
import { decideAfterRun, type RunningMessage } from '../domain/message.js'
import { failedRun, type FinishedRun } from '../domain/run.js'
import type { Held, RecordedRun } from '../ports/message-store.js'
import { outgoingOf } from '../webhooks/outbox.js'
import type { Unavailable } from '../ports/stored.js'
import { retryUntilStored } from '../pacing/retry-until-stored.js'
import type { RunContext } from './run-context.js'

export type Settled = {
  readonly held: Held
  readonly message: RunningMessage
  readonly run: FinishedRun
  readonly maxAttempts: number
}

/**
 * Records what a run came to: answer, new try or failure, with its event and deliveries, in one commit. A result in hand
 * is not dropped while the store is away and the service lives; the lease's token makes that safe, however late it comes back.
 */
export const settleRun =
  (d: RunContext) =>
  async ({
    held,
    message,
    run,
    maxAttempts,
  }: Settled): Promise<Result<RecordedRun, Unavailable>> => {
    const now = d.clock.now()
    const checked = checkedResponse(run, d.policy.limits.responseLength)
    const { state, event } = decideAfterRun(
      message,
      checked,
      { ...d.policy.dispatch, maxAttempts },
      now,
      d.random.next(),
    )
    const outgoing = event && outgoingOf(d, event, message.projectId, message.trace)
    const written = await retryUntilStored(d, () =>
      d.storage.messages.recordRun({ ...held, state, now, ...(outgoing && { outgoing }) }),
    )
    if (written.isErr()) return written
    const recorded = written.value
    const facts = { messageId: message.id, agentId: message.agentId, attempt: message.attempt }
    if (recorded.kind === 'lease_lost') {
      d.telemetry.record({ name: 'run.refused', ...facts })
      return ok(recorded)
    }
    d.telemetry.record({
      name: 'run.finished',
      ...facts,
      projectId: message.projectId,
      durationMs: Math.max(0, now - message.state.startedAt),
      state: state.kind,
      ...(state.kind === 'queued' && { nextRunAt: state.notBefore }),
      ...(checked.kind === 'failed' && {
        error: checked.error.code,
        detail: checked.error.message,
      }),
    })
    d.signal.notify(recorded.message)
    if (outgoing) d.deliverySender.take(recorded.deliveries, outgoing.claim)
    return ok(recorded)
  }

function checkedResponse(run: FinishedRun, maxLength: number): FinishedRun {
  const problem = run.kind === 'failed' ? undefined : responseProblem(run.response, maxLength)
  return problem === undefined ? run : failedRun('RESPONSE_INVALID', `the answer ${problem}`)
}

/** Why an answer cannot be kept; undefined when it can. */
export function responseProblem(response: unknown, maxLength: number): string | undefined {
  if (typeof response !== 'string') return 'is not a string'
  if (response.length > maxLength) return `has more than ${maxLength} characters`
  return isStorableText(response) ? undefined : 'holds NUL or a lone surrogate'
}
