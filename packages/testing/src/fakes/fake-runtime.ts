import {
  failedRun,
  failure,
  success,
  type AgentRuntime,
  type AskingRun,
  type OnExit,
  type RunningAgent,
  type RunOutcome,
  type RunRequest,
  type RuntimeAgent,
  type RunError,
} from '@org/agent-messaging-core/runtime'

export type FakeRuntimeOptions = Partial<
  Pick<
    AgentRuntime,
    | 'kind'
    | 'signsRequests'
    | 'exclusive'
    | 'has'
    | 'accepts'
    | 'takesResponseSchema'
    | 'parseOptions'
  >
> & {
  /**
   * Answers every run instead of the test, and decides what an abort does. A thrown error fails
   * the run.
   */
  readonly handler?: (request: RunRequest, signal: AbortSignal) => RunOutcome | Promise<RunOutcome>
}

/**
 * A runtime whose runs the test answers. A run stays open until the answer, an abort, or its
 * agent's end.
 */
export type FakeRuntime = AgentRuntime & {
  /** Every agent that was started, in order. */
  readonly starts: readonly RuntimeAgent[]
  /** Every requested run, in order. */
  readonly requests: readonly RunRequest[]
  /** The message ids of open runs, in order. */
  readonly openRuns: readonly string[]
  answer(messageId: string, response: string): void
  ask(messageId: string, question: Omit<AskingRun, 'kind'>): void
  fail(messageId: string, message?: string, options?: { readonly retryable?: boolean }): void
  defer(messageId: string, deadlineMs?: number): void
  /** Makes the next start fail. */
  failStart(message?: string): void
  /** Ends the started agent with its open runs, and reports the end. */
  exit(agentId: string, message?: string, isForced?: boolean): void
}

/** Runs that wait for the test. */
class OpenRuns {
  readonly #runs = new Map<string, { readonly agentId: string; end(outcome: RunOutcome): void }>()

  get messageIds(): string[] {
    return [...this.#runs.keys()]
  }

  wait(agentId: string, { messageId }: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const run = {
        agentId,
        end: (outcome: RunOutcome): void => {
          if (this.#runs.get(messageId) === run) this.#runs.delete(messageId)
          signal.removeEventListener('abort', abort)
          resolve(outcome)
        },
      }
      const abort = (): void => run.end(failedRun('RUNTIME_ERROR', 'aborted'))
      this.#runs.set(messageId, run)
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
    })
  }

  end(messageId: string, outcome: RunOutcome): void {
    const run = this.#runs.get(messageId)
    if (!run)
      throw new Error(
        `fake runtime: no open run of message ${messageId}; open are: ${this.messageIds.join(', ') || 'none'}`,
      )
    run.end(outcome)
  }

  endAgent(agentId: string, message: string): void {
    for (const run of this.#runs.values())
      if (run.agentId === agentId) run.end(failedRun('RUNTIME_EXITED', message, true))
  }
}

export function fakeRuntime({
  handler,
  kind = 'fake',
  signsRequests = false,
  exclusive = false,
  has = () => true,
  accepts = () => undefined,
  takesResponseSchema = true,
  parseOptions,
}: FakeRuntimeOptions = {}): FakeRuntime {
  const starts: RuntimeAgent[] = []
  const requests: RunRequest[] = []
  const open = new OpenRuns()
  const started = new Map<string, OnExit>()
  let startFailure: RunError | undefined

  async function run(
    agentId: string,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunOutcome> {
    requests.push(request)
    if (!handler) return open.wait(agentId, request, signal)
    try {
      return await handler(request, signal)
    } catch (error) {
      return failedRun('RUNTIME_ERROR', error instanceof Error ? error.message : String(error))
    }
  }

  function endAgent(agentId: string, message: string): void {
    started.delete(agentId)
    open.endAgent(agentId, message)
  }

  const runningAgent = (agentId: string): RunningAgent => ({
    run: (request, signal) => run(agentId, request, signal),
    health: async () =>
      started.has(agentId) ? { ok: true } : { ok: false, detail: 'it does not run' },
    stop: async () => endAgent(agentId, 'stopped'),
  })

  return {
    kind,
    signsRequests,
    exclusive,
    has,
    accepts,
    takesResponseSchema,
    parseOptions: parseOptions ?? (async (options) => success({ options, secrets: {} })),
    start: async (runtimeAgent, onExit) => {
      starts.push(runtimeAgent)
      const error = startFailure
      startFailure = undefined
      if (error) return failure(error)
      started.set(runtimeAgent.agent.id, onExit)
      return success(runningAgent(runtimeAgent.agent.id))
    },
    starts,
    requests,
    get openRuns() {
      return open.messageIds
    },
    answer: (messageId, response) => open.end(messageId, { kind: 'answered', response }),
    ask: (messageId, question) => open.end(messageId, { kind: 'input_required', ...question }),
    fail: (messageId, message = 'told to fail', { retryable = false } = {}) =>
      open.end(messageId, failedRun('RUNTIME_ERROR', message, retryable)),
    defer: (messageId, deadlineMs) =>
      open.end(messageId, { kind: 'deferred', ...(deadlineMs !== undefined && { deadlineMs }) }),
    failStart: (message = 'told not to start') => {
      startFailure = { code: 'RUNTIME_EXITED', message }
    },
    exit: (agentId, message = 'told to exit', isForced = false) => {
      const onExit = started.get(agentId)
      if (!onExit) throw new Error(`fake runtime: agent ${agentId} does not run`)
      endAgent(agentId, message)
      onExit({ code: 'RUNTIME_EXITED', message }, isForced)
    },
  }
}
