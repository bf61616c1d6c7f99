import type { Agent } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'
import type { Message } from '../domain/message.js'
import { failedRun, wordsOf, type FinishedRun, type RunOutcome } from '../domain/run.js'
import { childTrace } from '../domain/trace.js'
import type { RunningAgent, RunRequest } from '../ports/agent-runtime.js'
import type { ClaimedMessage, Held } from '../ports/message-store.js'
import type { RunContext } from './run-context.js'
import { runTokenOf } from './run-token.js'
import { settleRun } from './settle-run.js'
import { retryUntilStored } from '../pacing/retry-until-stored.js'
import { runMemory } from './run-memory.js'

/** One try of an agent at a message, from its claim to the record of what it came to. */
export type Run = {
  readonly held: Held
  readonly sessionId: string
  /** Tells the agent to end. The first reason counts. */
  abort(reason: AbortReason): void
  /** Aborts the run when its time is over, and gives up on an agent that does not end after an abort. */
  enforceDeadline(now: Instant): void
  /** Resolves when the agent has had its turn: what follows is the record of it. Never rejects. */
  readonly worked: Promise<void>
  /** Never rejects. */
  readonly ended: Promise<{ readonly sessionWaits: boolean }>
}

/** `lost`: its lease is another's now. `cancelled`: nobody wants its answer any more. `drain`: the process is about to stop. */
type AbortReason = 'timeout' | 'lost' | 'cancelled' | 'drain'

/** How long an aborted agent may take to end before the run goes on without it. Who stops the process waits for that. */
const ABORT_GRACE_MS: Readonly<Record<AbortReason, number>> = {
  timeout: 5_000,
  lost: 5_000,
  cancelled: 5_000,
  drain: 1_000,
}

const NOTHING_WAITS = { sessionWaits: false }

/** The agent has its turn when those have resolved that come `before`. */
export function createRun(
  d: RunContext,
  agent: Agent,
  running: Pick<RunningAgent, 'run'>,
  claimed: ClaimedMessage,
  before: readonly Promise<unknown>[],
): Run {
  const { message, lease } = claimed
  const held: Held = { messageId: message.id, token: lease.token }
  const deadlineAt = message.state.startedAt + d.policy.dispatch.runTimeoutMs
  const aborter = new AbortController()
  const live = d.answerStreams.begin(message)
  let reason: AbortReason | undefined
  let giveUpAt: Instant = Infinity
  let giveUp = (): void => undefined
  const givenUp = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined)
  })

  let rest = (): void => undefined
  const worked = new Promise<void>((resolve) => {
    rest = resolve
  })

  function abort(why: AbortReason): void {
    if (reason) return
    reason = why
    giveUpAt = d.clock.now() + ABORT_GRACE_MS[why]
    aborter.abort(new Error(`run aborted: ${why}`, { cause: why }))
    // What it says from now on will not be the answer, and the message may be queued anew before it ends: its readers wait for the next run.
    if (why === 'cancelled' || why === 'lost') live.end()
  }

  function endIfCancelled({ state }: Message): void {
    if (state.kind === 'cancelled') abort('cancelled')
  }

  async function execute(): Promise<{ readonly sessionWaits: boolean }> {
    const outcome =
      message.attempt > agent.maxAttempts
        ? noMoreAttempts(claimed)
        : await Promise.race([guarded(), givenUp])
    rest()
    if (reason === 'lost' || reason === 'cancelled') refuse(outcome)
    else if (outcome?.kind === 'deferred') await defer(outcome.deadlineMs)
    else return settle(finished(outcome))
    return NOTHING_WAITS
  }

  /** That a cancelled run ends is no news; that it answers all the same is. */
  function refuse(outcome: RunOutcome | undefined): void {
    if (reason === 'lost' || outcome?.kind === 'answered')
      d.telemetry.record({
        name: 'run.refused',
        messageId: message.id,
        agentId: agent.id,
        attempt: message.attempt,
      })
  }

  /** What is to be recorded: an answer counts though the run was aborted. */
  function finished(outcome: FinishedRun | undefined): FinishedRun {
    if (reason && outcome?.kind !== 'answered')
      return abortedRun(reason, d.policy.dispatch.runTimeoutMs)
    return outcome ?? failedRun('RUNTIME_LOST', 'the run was given up')
  }

  async function settle(run: FinishedRun): Promise<{ readonly sessionWaits: boolean }> {
    const recorded = await settleRun(d)({ held, message, run, maxAttempts: agent.maxAttempts })
    return recorded.isOk() && recorded.value.kind === 'recorded' ? recorded.value : NOTHING_WAITS
  }

  /** The port forbids a rejection; an adapter with a bug must not take the worker down with it. */
  async function guarded(): Promise<RunOutcome | undefined> {
    await (before.length > 0 && Promise.all(before))
    if (reason) return undefined
    try {
      return await running.run(requestOf(d, claimed, live.emit), aborter.signal)
    } catch (error) {
      return failedRun('RUNTIME_ERROR', wordsOf(error))
    }
  }

  /** A runtime's wish that is no whole number of milliseconds would be refused by the store, and this write is insisted on. */
  async function defer(deadlineMs: number = Infinity): Promise<void> {
    const longest = d.policy.dispatch.deferredTimeoutMs
    const wait = Math.trunc(Math.min(deadlineMs, longest))
    const deadlineAt = d.clock.now() + (wait >= 0 ? wait : longest)
    const state = { kind: 'deferred', startedAt: message.state.startedAt, deadlineAt } as const
    // `lease_lost` is no fault: the callback may have come before the runtime's 202.
    await retryUntilStored(d, () => d.storage.messages.defer({ ...held, state }))
  }

  // Somebody cancelled the message: no need to wait for the beat that finds the lease lost. Another process's signal does not say so itself.
  const stopListening = d.signal.listen(message.id, (heard) => {
    if (heard) endIfCancelled(heard)
    else
      void d.storage.messages
        .findFinal([message.id])
        .map(([found]) => found && endIfCancelled(found))
  })

  return {
    held,
    sessionId: message.sessionId,
    abort,
    enforceDeadline: (now) => {
      if (now >= deadlineAt) abort('timeout')
      if (now >= giveUpAt) giveUp()
    },
    worked,
    ended: execute().finally(() => {
      stopListening()
      live.end()
    }),
  }
}

function requestOf(
  d: RunContext,
  { message, lease, sessionState }: ClaimedMessage,
  emit: RunRequest['emit'],
): RunRequest {
  const {
    id: messageId,
    agentId,
    sessionId,
    message: text,
    metadata,
    executionPrincipal,
    attempt,
  } = message
  const trace = message.trace && childTrace(message.trace, d.crypto.randomBytes)
  return {
    messageId,
    agentId,
    sessionId,
    message: text,
    executionPrincipal,
    attempt,
    emit,
    runToken: runTokenOf(d.crypto, messageId, lease.token),
    ...(metadata && { metadata }),
    ...(trace && { trace }),
    ...(sessionState !== undefined && { sessionState }),
    ...runMemory(d, { messageId, token: lease.token }),
  }
}

/** Of a message that has had all its attempts. Whose last one failed is here because the agent allowed more of them then. */
function noMoreAttempts({ lost }: ClaimedMessage): FinishedRun {
  if (lost === 'deferred')
    return failedRun('RUNTIME_TIMEOUT', 'the runtime did not call back in time')
  if (lost === 'running') return failedRun('RUNTIME_LOST', 'the process that ran it ended')
  return failedRun('RUNTIME_ERROR', 'the last attempt failed, and the agent allows no other')
}

const abortedRun = (reason: AbortReason, timeoutMs: number): FinishedRun =>
  reason === 'timeout'
    ? failedRun('RUNTIME_TIMEOUT', `no answer within ${timeoutMs} ms`, true)
    : failedRun('RUNTIME_LOST', 'the server stopped during the run', true)
