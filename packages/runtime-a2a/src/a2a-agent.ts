import type { Client } from '@a2a-js/sdk/client'
import {
  failedRun,
  type Clock,
  type RunningAgent,
  type RunOutcome,
  type RunRequest,
  type Telemetry,
} from '@org/agent-messaging-core/runtime'
import { connect } from './a2a-client.js'
import { runTurn } from './a2a-turn.js'
import { describeError, safeText } from './error-text.js'
import type { Fetch, Remote } from './remote.js'

export type A2aAgentDeps = {
  readonly fetch: Fetch
  readonly clock: Pick<Clock, 'sleep'>
  readonly telemetry?: Telemetry | undefined
}

const HEALTH_TIMEOUT_MS = 5_000

/** A remote agent that speaks A2A. */
export class A2aAgent implements RunningAgent {
  readonly #deps: A2aAgentDeps
  readonly #remote: Remote
  readonly #stopping = new AbortController()
  readonly #turns = new Set<Promise<unknown>>()
  #client: Client

  constructor(deps: A2aAgentDeps, remote: Remote, client: Client) {
    this.#deps = deps
    this.#remote = remote
    this.#client = client
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    const { timeoutMs } = this.#remote
    const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
    const signals = [signal, this.#stopping.signal, ...(deadline ? [deadline] : [])]
    const { clock, telemetry } = this.#deps
    const { agentId, messageId } = request
    const onLeftOut = (parts: string): void => {
      const leftOut = safeText(parts, this.#remote)
      telemetry?.record({ name: 'answer.shortened', messageId, agentId, leftOut })
    }
    const deps = { client: this.#client, clock, onLeftOut }
    const turn = runTurn(deps, request, AbortSignal.any(signals))
    this.#turns.add(turn)
    const outcome = await turn
    this.#turns.delete(turn)
    if (outcome.kind !== 'failed') return outcome
    if (deadline?.aborted && !signal.aborted)
      return failedRun('RUNTIME_TIMEOUT', `no answer within ${timeoutMs} ms`, true)
    const message = safeText(outcome.error.message, this.#remote)
    return { ...outcome, error: { ...outcome.error, message } }
  }

  /** Reads the agent's card again. Later runs use the new card. */
  async health(signal: AbortSignal): Promise<{ ok: boolean; detail?: string }> {
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)])
      this.#client = await connect(this.#deps.fetch, this.#remote, limited)
      return { ok: true }
    } catch (error) {
      return { ok: false, detail: safeText(describeError(error), this.#remote) }
    }
  }

  /** Ends the runs as in a drain: the tasks go on, and the next attempts find them. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the agent is being stopped', { cause: 'drain' }))
    await Promise.all(this.#turns)
  }
}
