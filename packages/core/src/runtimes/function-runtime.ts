import { failure, success } from '../ports/port-result.js'
import { beginningOf, isJsonObject, isStorableText } from '../domain/values/json.js'
import { defaultLimits } from '../domain/values/limits.js'
import type { PartEvent } from '../domain/messages/part.js'
import { failedRun, wordsOf, type RunOutcome, type FinishedRun } from '../domain/messages/run.js'
import type { AgentRuntime, RunningAgent, RunRequest } from '../ports/agent-runtime.js'
import { Asking, type Ask } from './asking.js'
import { parseRunUsage, type RunUsage } from '../domain/operations/usage.js'

/**
 * An agent as a function. It returns an answer or yields pieces of it and part events, as an async
 * generator does: each one is streamed, and the answer is all text. `ask` asks a person.
 * `reportUsage` reports tokens of a model. An error fails the run. Only an error with `retryable:
 * true` leads to another run.
 */
export type AgentFunction = (
  request: RunRequest & {
    readonly signal: AbortSignal
    readonly ask: Ask
    readonly reportUsage: ReportUsage
  },
) => string | AgentPieces | Promise<string | AgentPieces>
type AgentPieces = AsyncIterable<string | PartEvent>

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
    accepts: () => undefined,
    takesResponseSchema: true,
    optionsSchema: () => ({
      properties: {
        handler: { type: 'string', description: 'The name of a function of the server.' },
      },
      required: ['handler'],
      additionalProperties: false,
    }),
    parseOptions: async ({ handler, ...rest }) => {
      if (find(handler) === undefined) return failure(`handler must be one of: ${known}`)
      const stray = Object.keys(rest)[0]
      return stray === undefined
        ? success({ options: { handler: handler as string }, secrets: {} })
        : failure(`${stray} is not an option of function agents`)
    },
    start: async ({ agent }) => {
      const { handler } = agent.runtime.options
      const run = find(handler)
      return run
        ? success(runningFunction(run, maxLength))
        : failure({
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

const isIterable = (answer: string | AgentPieces): answer is AgentPieces =>
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

/** Adds tokens of a model to the usage of the run. Each call of a model can report its own. */
type ReportUsage = (usage: RunUsage) => void

/** The usage that a function reports during its run. */
class UsageReport {
  #sum: RunUsage | undefined

  readonly report: ReportUsage = (usage) => {
    const added = parseRunUsage(usage)
    if (!added) return
    const { inputTokens: input, outputTokens: output } = this.#sum ?? {}
    const { inputTokens = input === undefined ? undefined : 0 } = added
    const { outputTokens = output === undefined ? undefined : 0 } = added
    this.#sum = {
      ...(inputTokens !== undefined && { inputTokens: inputTokens + (input ?? 0) }),
      ...(outputTokens !== undefined && { outputTokens: outputTokens + (output ?? 0) }),
    }
  }

  addTo(outcome: RunOutcome): RunOutcome {
    return this.#sum && outcome.kind !== 'deferred' ? { ...outcome, usage: this.#sum } : outcome
  }
}

type Collecting = Pick<RunRequest, 'emit'> & {
  readonly signal: AbortSignal
  readonly maxLength: number
}

/**
 * Emits each piece and returns all text joined. Ends the iteration when the signal aborts, a piece
 * is neither text nor an event, or the answer is too long. Rejects with the error that the
 * iteration throws.
 */
async function collectPieces(
  pieces: AgentPieces,
  { emit, signal, maxLength }: Collecting,
): Promise<FinishedRun> {
  const iterator = pieces[Symbol.asyncIterator]()
  let response = ''
  for (;;) {
    const next = await nextOrAbort(iterator, signal)
    if (next === 'aborted')
      return leave(iterator, failedRun('RUNTIME_ERROR', 'the run was aborted'))
    if (next.done) return { kind: 'answered', response }
    const text = textOf(next.value)
    if (text === undefined)
      return leave(
        iterator,
        failedRun('RESPONSE_INVALID', 'a piece of the answer is neither a text nor an object'),
      )
    response += text
    if (response.length > maxLength) return leave(iterator, tooLong(maxLength))
    emit(next.value)
  }
}

/** Returns '' for an event without text, and undefined for another value. */
function textOf(piece: unknown): string | undefined {
  if (typeof piece === 'string') return piece
  if (!isJsonObject(piece)) return undefined
  const { type, text } = piece
  return type === 'text-delta' && typeof text === 'string' ? text : ''
}

function nextOrAbort(
  iterator: AsyncIterator<string | PartEvent>,
  signal: AbortSignal,
): Promise<IteratorResult<string | PartEvent> | 'aborted'> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve('aborted')
    const onAbort = (): void => resolve('aborted')
    signal.addEventListener('abort', onAbort)
    iterator
      .next()
      .finally(() => signal.removeEventListener('abort', onAbort))
      .then(resolve, reject)
  })
}

/**
 * Ends the iteration without waiting for it, because an agent ends only at its next step. Ignores
 * errors of that end.
 */
function leave(iterator: AsyncIterator<string | PartEvent>, run: FinishedRun): FinishedRun {
  void (async () => iterator.return?.())().catch(() => undefined)
  return run
}

const tooLong = (maxLength: number): FinishedRun =>
  failedRun('RESPONSE_INVALID', `the answer has more than ${maxLength} characters`)
