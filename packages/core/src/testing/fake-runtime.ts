import { err, ok } from 'neverthrow'
import { failedRun, type RunError, type RunOutcome } from '../domain/run.js'
import type {
  AgentRuntime,
  OnExit,
  RunningAgent,
  RunRequest,
  RuntimeAgent,
} from '../ports/agent-runtime.js'

export type FakeRuntimeOptions = Partial<
  Pick<AgentRuntime, 'kind' | 'signsRequests' | 'exclusive' | 'has' | 'parseOptions'>
> & {
  /** Answers every run in the test's place, and alone decides what an abort does. What it throws is a failed run. */
  readonly handler?: (request: RunRequest, signal: AbortSignal) => RunOutcome | Promise<RunOutcome>
}

/** A runtime whose runs the test answers. A run stays open until then, until it is aborted or until its agent ends. */
export type FakeRuntime = AgentRuntime & {
  /** Every agent that was started, in order. */
  readonly starts: readonly RuntimeAgent[]
  /** Every run that was asked for, in order. */
  readonly requests: readonly RunRequest[]
  /** Message ids of the runs that nobody has answered yet, in order. */
  readonly openRuns: readonly string[]
  answer(messageId: string, response: string): void
  fail(messageId: string, message?: string, options?: { readonly retryable?: boolean }): void
  defer(messageId: string, deadlineMs?: number): void
  /** The next start comes to nothing. */
  failStart(message?: string): void
  /** Ends the started agent with its open runs, and reports the end. */
  exit(agentId: string, message?: string, isForced?: boolean): void
}

type OpenRun = { readonly agentId: string; end(outcome: RunOutcome): void }

export function fakeRuntime({
  handler,
  kind = 'fake',
  signsRequests = false,
  exclusive = false,
  has = () => true,
  parseOptions,
}: FakeRuntimeOptions = {}): FakeRuntime {
  const starts: RuntimeAgent[] = []
  const requests: RunRequest[] = []
  const openRuns = new Map<string, OpenRun>()
  const started = new Map<string, OnExit>()
  let startFailure: RunError | undefined

  function waitForTest(
    agentId: string,
    { messageId }: RunRequest,
    signal: AbortSignal,
  ): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const run = {
        agentId,
        end: (outcome: RunOutcome): void => {
          if (openRuns.get(messageId) === run) openRuns.delete(messageId)
          signal.removeEventListener('abort', abort)
          resolve(outcome)
        },
      }
      const abort = (): void => run.end(failedRun('RUNTIME_ERROR', 'aborted'))
      openRuns.set(messageId, run)
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
    })
  }

  async function run(
    agentId: string,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunOutcome> {
    requests.push(request)
    if (!handler) return waitForTest(agentId, request, signal)
    try {
      return await handler(request, signal)
    } catch (error) {
      return failedRun('RUNTIME_ERROR', error instanceof Error ? error.message : String(error))
    }
  }

  function endAgent(agentId: string, message: string): void {
    started.delete(agentId)
    for (const open of openRuns.values())
      if (open.agentId === agentId) open.end(failedRun('RUNTIME_EXITED', message, true))
  }

  function settle(messageId: string, outcome: RunOutcome): void {
    const open = openRuns.get(messageId)
    if (!open)
      throw new Error(
        `fake runtime: no open run of message ${messageId}; open are: ${[...openRuns.keys()].join(', ') || 'none'}`,
      )
    open.end(outcome)
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
    parseOptions: parseOptions ?? (async (options) => ok({ options, secrets: {} })),
    start: async (runtimeAgent, onExit) => {
      starts.push(runtimeAgent)
      const failure = startFailure
      startFailure = undefined
      if (failure) return err(failure)
      started.set(runtimeAgent.agent.id, onExit)
      return ok(runningAgent(runtimeAgent.agent.id))
    },
    starts,
    requests,
    get openRuns() {
      return [...openRuns.keys()]
    },
    answer: (messageId, response) => settle(messageId, { kind: 'answered', response }),
    fail: (messageId, message = 'told to fail', { retryable = false } = {}) =>
      settle(messageId, failedRun('RUNTIME_ERROR', message, retryable)),
    defer: (messageId, deadlineMs) =>
      settle(messageId, { kind: 'deferred', ...(deadlineMs !== undefined && { deadlineMs }) }),
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
