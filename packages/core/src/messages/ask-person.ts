import { ok, type Result } from 'neverthrow'
import { decideQuestion } from '../domain/input-decisions.js'
import type { RunningMessage } from '../domain/message.js'
import type { AskingRun } from '../domain/message-input.js'
import { retryUntilStored } from '../pacing/retry-until-stored.js'
import { tracedCommit } from '../pacing/traced-commit.js'
import { usageOfRun, type RunUsage } from '../domain/usage.js'
import type { HeldRun, RecordedRun } from '../ports/message-store.js'
import type { Unavailable } from '../ports/stored.js'
import type { ActiveSpan } from '../ports/tracing.js'
import { outgoingOf } from '../webhooks/outbox.js'
import { newInputLink } from './input-link.js'
import type { RunContext } from './run-context.js'

type Question = {
  readonly held: HeldRun
  readonly message: RunningMessage
  readonly run: AskingRun & { readonly usage?: RunUsage }
  readonly cause: Pick<ActiveSpan, 'trace'>
}

/**
 * Stores the question of a run with its event and deliveries, in one commit. Retries like
 * `settleRun`.
 */
export async function askPerson(
  context: RunContext,
  { held, message, run, cause }: Question,
): Promise<Result<RecordedRun, Unavailable>> {
  const { clock, deliverySender, eventNews, ids, policy, signal, storage, telemetry } = context
  const now = clock.now()
  const { id: messageId, projectId, agentId, attempt, trace } = message
  const id = ids.next()
  const link = newInputLink(context, messageId)
  const { state, inputs, events } = decideQuestion(message, run, { id, link }, now)
  const outgoing = outgoingOf(context, events, projectId, trace)
  const usage = policy.quotas && usageOfRun(projectId, { usage: run.usage }, now)
  const asking = { ...held, state, inputs, outgoing, ...(usage && { usage }) }
  const written = await tracedCommit(context.tracing, cause, 'ask', () =>
    retryUntilStored(context, () => storage.messages.ask(asking)),
  )
  if (written.isErr()) return written
  const recorded = written.value
  const facts = { messageId, agentId, attempt }
  if (recorded.kind === 'lease_lost') {
    telemetry.record({ name: 'run.refused', ...facts })
    return ok(recorded)
  }
  const durationMs = Math.max(0, now - message.state.startedAt)
  telemetry.record({ name: 'run.finished', ...facts, projectId, durationMs, state: state.kind })
  signal.notify(recorded.message)
  eventNews.committed(projectId)
  deliverySender.take(recorded, outgoing.claim)
  return ok(recorded)
}
