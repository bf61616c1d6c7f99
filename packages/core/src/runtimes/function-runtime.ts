import { err, ok } from 'neverthrow'
import { beginningOf, isStorableText } from '../domain/json.js'
import { defaultLimits } from '../domain/limits.js'
import { failedRun, wordsOf, type RunOutcome } from '../domain/run.js'
import type { AgentRuntime, RunningAgent, RunRequest } from '../ports/agent-runtime.js'
import { Asking, type Ask } from './asking.js'
import { collectPieces } from './collect-pieces.js'
import { UsageReport, type ReportUsage } from './usage-report.js'

/**
 * An agent as a function. It returns an answer or yields pieces of it, as an async generator does:
 * each piece is streamed. `ask` asks a person. `reportUsage` reports tokens of a model. An error
 * fails the run. Only an error with `retryable: true` leads to another run.
 */
export type AgentFunction = (
  request: RunRequest & {
    readonly signal: AbortSignal
    readonly ask: Ask
    readonly reportUsage: ReportUsage
  },
) => string | AsyncIterable<string> | Promise<string | AsyncIterable<string>>

export type FunctionRuntimeOptions = {
  /** The longest answer in pieces, in UTF-16 units. Default: the default limit of answers. */
  readonly maxLength?: number
  /**
   * True if the handlers keep state in this process: see `AgentRuntime.exclusive`. Otherwise every
   * process that has a handler runs its agents.
   */
  readonly exclusive?: boolean
}

const MAX_ERROR_LENGTH = 1_000

/**
 * Runs agents in this process. An agent's option `handler` names one of `handlers`. Requests
 * cannot bring code.
 */
export function functionRuntime(
  handlers: Readonly<Record<string, AgentFunction>>,
  { maxLength = defaultLimits.responseLength, exclusive = false }: FunctionRuntimeOptions = {},
): AgentRuntime {
  const find = (name: unknown): AgentFunction | undefined =>
    typeof name === 'string' && Object.hasOwn(handlers, name) ? handlers[name] : undefined
  const known = Object.keys(handlers).join(', ')
  return {
    kind: 'function',
    signsRequests: false,
    exclusive,
    has: ({ handler }) => find(handler) !== undefined,
    optionsSchema: () => ({
      properties: {
        handler: { type: 'string', description: 'The name of a function of the server.' },
      },
      required: ['handler'],
      additionalProperties: false,
    }),
    parseOptions: async ({ handler, ...rest }) => {
      if (find(handler) === undefined) return err(`handler must be one of: ${known}`)
      const stray = Object.keys(rest)[0]
      return stray === undefined
        ? ok({ options: { handler: handler as string }, secrets: {} })
        : err(`${stray} is not an option of function agents`)
    },
    start: async ({ agent }) => {
      const { handler } = agent.runtime.options
      const run = find(handler)
      return run
        ? ok(runningFunction(run, maxLength))
        : err({
            code: 'RUNTIME_EXITED',
            message: `this process has no handler ${JSON.stringify(handler)}`,
          })
    },
  }
}

const runningFunction = (agentFunction: AgentFunction, maxLength: number): RunningAgent => ({
  run: async (request, signal) => {
    const asking = new Asking(request.inputs)
    const used = new UsageReport()
    const tools = { ask: asking.ask as Ask, reportUsage: used.report }
    try {
      const answer = await agentFunction({ signal, ...request, ...tools })
      const outcome: RunOutcome = isIterable(answer)
        ? await collectPieces(answer, { emit: request.emit, signal, maxLength })
        : { kind: 'answered', response: answer }
      return used.addTo(asking.end ?? outcome)
    } catch (error) {
      return used.addTo(asking.end ?? thrown(error))
    }
  },
  health: async () => ({ ok: true }),
  stop: async () => undefined,
})

const isIterable = (answer: string | AsyncIterable<string>): answer is AsyncIterable<string> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

function thrown(error: unknown): RunOutcome {
  const message = beginningOf(
    wordsOf(error instanceof Error ? error.message : error),
    MAX_ERROR_LENGTH,
  )
  const retryable =
    typeof error === 'object' && error !== null && 'retryable' in error && error.retryable === true
  return failedRun(
    'RUNTIME_ERROR',
    isStorableText(message) ? message : 'the agent failed',
    retryable,
  )
}
