import type { Agent } from '../../domain/agents/agent.js'
import type { Message } from '../../domain/messages/message.js'
import { failedRun, wordsOf, type EndedRun, type RunOutcome } from '../../domain/messages/run.js'
import { retryUntilStored } from '../../pacing/retry-until-stored.js'
import type { ActiveSpan } from '../../ports/tracing.js'
import type { RunningAgent } from '../../ports/agent-runtime.js'
import type { ClaimedMessage, HeldRun } from '../../ports/message-store.js'
import type { RunContext } from './run-context.js'
import { concludeRun, exhaustedRun, type AbortReason } from './run-outcome.js'
import { runRequest } from './run-request.js'
import { settleRun } from './settle-run.js'
import type { LiveRun } from '../stream/answer-streams.js'
import type { Platform } from '../../platform.js'
import { chain } from '../../pacing/chain.js'

/** How long an aborted agent can take to end. After that the run ends without the agent. */
const ABORT_GRACE_MS: Readonly<Record<AbortReason, number>> = {
  timeout: 5_000,
  lost: 5_000,
  cancelled: 5_000,
  drain: 1_000,
}

export type RunInput = {
  /** Unique among the runs of this process. */
  readonly number: number
  readonly claimed: ClaimedMessage
  readonly agent: Agent
  readonly running: Pick<RunningAgent, 'run'>
  /** Ends of the session's earlier runs. The agent starts after them. */
  readonly earlier: readonly Promise<unknown>[]
}
export type RunEnd = { readonly sessionWaits: boolean }

/** One attempt of an agent at a message, from its claim until its outcome is stored. */
export class Run {
  readonly number: number
  readonly held: HeldRun
  readonly sessionId: string
  /** Resolves when the agent has ended. The run then stores the outcome. */
  readonly agentEnded: Promise<void>
  /** Resolves when the outcome is stored. Never rejects. */
  readonly ended: Promise<RunEnd>
  readonly #context: RunContext
  readonly #input: RunInput
  readonly #aborter = new AbortController()
  readonly #live: LiveRun
  readonly #span: ActiveSpan
  /** In elapsed time, like `#abandonAt`. */
  readonly #deadlineAt: number
  /** The first reason to abort. */
  #reason: AbortReason | undefined
  /** When the run ends without its aborted agent. */
  #abandonAt = Infinity
  #abandon = (): void => undefined
  #onAgentEnded = (): void => undefined

  constructor(context: RunContext, input: RunInput) {
    const { message, lease } = input.claimed
    const { dispatch, runLeaseMs } = context.policy
    this.#context = context
    this.#input = input
    this.number = input.number
    this.held = { messageId: message.id, token: lease.token }
    this.sessionId = message.sessionId
    this.#deadlineAt = context.clock.elapsed() + dispatch.runTimeoutMs
    this.#live = context.answerStreams.begin(message)
    this.#span = startRun(context, input.agent, message)
    this.agentEnded = new Promise((resolve) => {
      this.#onAgentEnded = resolve
    })
    // First the lease: the agent's first step can block this thread.
    const until = message.state.startedAt + dispatch.runTimeoutMs + runLeaseMs
    context.leaseKeeper.hold({ until, ...this.held })
    this.ended = this.#execute()
  }

  /** Tells the agent to end. Only the first reason counts. */
  abort(reason: AbortReason): void {
    if (this.#reason) return
    this.#reason = reason
    this.#abandonAt = this.#context.clock.elapsed() + ABORT_GRACE_MS[reason]
    this.#aborter.abort(new Error(`run aborted: ${reason}`, { cause: reason }))
    // The next run's answer counts, so readers get no more pieces of this one.
    if (reason === 'cancelled' || reason === 'lost') this.#live.end()
  }

  /** Aborts the run after its deadline, and abandons an aborted agent that does not end. */
  enforceDeadline(): void {
    const elapsed = this.#context.clock.elapsed()
    if (elapsed >= this.#deadlineAt) this.abort('timeout')
    if (elapsed >= this.#abandonAt) this.#abandon()
  }

  async #execute(): Promise<RunEnd> {
    const stopListening = this.#abortWhenCancelled()
    const { claimed } = this.#input
    const outcome = claimed.isExhausted
      ? exhaustedRun(claimed.lost)
      : await new Promise<RunOutcome | undefined>((resolve) => {
          this.#abandon = () => resolve(undefined)
          void this.#runAgent().then(resolve)
        })
    this.#onAgentEnded()
    const end = await this.#conclude(outcome)
    endRun(this.#span, outcome, this.#reason)
    stopListening()
    this.#live.end()
    this.#context.leaseKeeper.release(this.held)
    return end
  }

  /** The port forbids a rejection. An adapter with a bug must not stop the dispatcher. */
  async #runAgent(): Promise<RunOutcome | undefined> {
    const { claimed, running, earlier } = this.#input
    await (earlier.length > 0 && Promise.all(earlier))
    if (this.#reason) return undefined
    try {
      const request = runRequest(this.#context, claimed, this.#live.emit, this.#span.trace)
      return await this.#span.within(() => running.run(request, this.#aborter.signal))
    } catch (error) {
      return failedRun('RUNTIME_ERROR', wordsOf(error))
    }
  }

  async #conclude(outcome: RunOutcome | undefined): Promise<RunEnd> {
    const { policy, telemetry } = this.#context
    const { id: messageId, agentId, attempt } = this.#input.claimed.message
    const conclusion = concludeRun(outcome, this.#reason, policy.dispatch)
    switch (conclusion.kind) {
      case 'settle':
        return this.#settle(conclusion.run)
      case 'defer':
        await this.#defer(conclusion.waitMs)
        break
      case 'discard':
        if (conclusion.isRefused)
          telemetry.record({ name: 'run.refused', messageId, agentId, attempt })
    }
    return { sessionWaits: false }
  }

  async #settle(run: EndedRun): Promise<RunEnd> {
    const { agent, claimed } = this.#input
    const { held } = this
    const settled = await settleRun(this.#context, {
      held,
      message: claimed.message,
      run,
      partsOf: this.#live.partsOf,
      agent,
      isRun: !claimed.isExhausted,
      lostRun: claimed.lostRun,
      cause: this.#span,
    })
    const recorded = settled.ok ? settled.value : undefined
    return { sessionWaits: recorded?.kind === 'recorded' && recorded.sessionWaits }
  }

  /** Does not report a lost lease: the callback can come before the runtime's 202. */
  async #defer(waitMs: number): Promise<void> {
    const { clock, storage } = this.#context
    const { startedAt } = this.#input.claimed.message.state
    const state = { kind: 'deferred', startedAt, deadlineAt: clock.now() + waitMs } as const
    await retryUntilStored(this.#context, () => storage.messages.defer({ ...this.held, state }))
  }

  /**
   * Aborts at once when the message is cancelled, instead of at the next extension of the lease.
   */
  #abortWhenCancelled(): () => void {
    const { signal, storage } = this.#context
    const { messageId } = this.held
    const abortIfCancelled = (message: Message | undefined): void => {
      if (message?.state.kind === 'cancelled') this.abort('cancelled')
    }
    return signal.listen(messageId, (heard) => {
      if (heard) abortIfCancelled(heard)
      else
        void chain(storage.messages.findSettled([messageId])).map(([found]) =>
          abortIfCancelled(found),
        )
    })
  }
}

const startRun = (
  { tracing }: Pick<Platform, 'tracing'>,
  agent: Agent,
  message: Message,
): ActiveSpan =>
  tracing.start({
    name: 'agent.run',
    parent: message.trace,
    details: {
      projectId: message.projectId,
      sessionId: message.sessionId,
      messageId: message.id,
      agentId: agent.id,
      agentName: agent.name,
      runtime: agent.runtime.kind,
      attempt: message.attempt,
    },
  })

function endRun(
  span: ActiveSpan,
  outcome: RunOutcome | undefined,
  reason: AbortReason | undefined,
): void {
  const usage = outcome && 'usage' in outcome ? outcome.usage : undefined
  span.end({
    outcome: outcome?.kind,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    error: outcome?.kind === 'failed' ? outcome.error.code : reason,
  })
}
