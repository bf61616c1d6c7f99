import {
  methods,
  type CancelNotification,
  type ContentBlock,
  type PromptRequest,
} from '@agentclientprotocol/sdk'
import {
  failedRun,
  type FinishedRun,
  type RunRequest,
  type Turn,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { AcpAnswer } from './acp-answer.js'
import type { AcpConnection } from './acp-connection.js'
import { AgentTimeout, isSessionUnknown, storable } from './acp-failure.js'
import type { AcpSessions } from './acp-sessions.js'

export type TurnDeps = {
  readonly connection: AcpConnection
  readonly sessions: AcpSessions
  /** In UTF-16 units. */
  readonly maxAnswerLength: number
  /** How long an agent can take to end a cancelled turn. */
  readonly cancelGraceMs: number
}

/** The key in `_meta` for facts that the protocol has no field for. */
const META_KEY = 'agent-messaging'

const promptResponse = z.object({ stopReason: z.string() })

/**
 * Runs one turn: opens the session, sends the prompt and waits for the end. Rejects like `request`.
 */
export async function runTurn(
  { connection, sessions, maxAnswerLength, cancelGraceMs }: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<FinishedRun> {
  const { id: sessionId, history } = await sessions.open(run, signal)
  signal.throwIfAborted()
  const cancellation = new TurnCancellation(connection, sessionId, cancelGraceMs)
  const cancel = () => cancellation.start()
  const answer = new AcpAnswer({
    maxLength: maxAnswerLength,
    emit: (chunk) => run.emit(chunk),
    onTooLong: cancel,
  })
  connection.turns.set(sessionId, { answer, signal: cancellation.started })
  signal.addEventListener('abort', cancel)
  try {
    const response = await connection.request(
      methods.agent.session.prompt,
      promptOf(sessionId, history, run),
      { signal: cancellation.expired },
    )
    sessions.turnEnded(sessionId)
    const stopReason = promptResponse.safeParse(response).data?.stopReason
    return answer.isTooLong ? tooLong(maxAnswerLength) : outcomeOf(stopReason, answer.text)
  } catch (error) {
    if (isSessionUnknown(error)) sessions.forget(sessionId)
    if (!cancellation.expired.aborted) throw error
    sessions.abandon(sessionId)
    return answer.isTooLong
      ? tooLong(maxAnswerLength)
      : failedRun('RUNTIME_TIMEOUT', 'the agent did not end its turn when it was cancelled')
  } finally {
    cancellation.dispose()
    signal.removeEventListener('abort', cancel)
    connection.turns.delete(sessionId)
  }
}

/** Asks the agent once to end a turn, and waits for a limited time. */
class TurnCancellation {
  readonly #connection: AcpConnection
  readonly #sessionId: string
  readonly #graceMs: number
  readonly #started = new AbortController()
  readonly #expired = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(connection: AcpConnection, sessionId: string, graceMs: number) {
    this.#connection = connection
    this.#sessionId = sessionId
    this.#graceMs = graceMs
  }

  get started(): AbortSignal {
    return this.#started.signal
  }

  /** Aborts when the agent has not ended the turn in time. */
  get expired(): AbortSignal {
    return this.#expired.signal
  }

  start(): void {
    if (this.started.aborted) return
    this.#started.abort()
    const params: CancelNotification = { sessionId: this.#sessionId }
    this.#connection.notify(methods.agent.session.cancel, params)
    const expire = () => this.#expired.abort(new AgentTimeout('the agent did not end its turn'))
    this.#timer = setTimeout(expire, this.#graceMs)
  }

  dispose(): void {
    clearTimeout(this.#timer)
  }
}

function promptOf(sessionId: string, history: readonly Turn[], run: RunRequest): PromptRequest {
  const { messageId, agentId, message, metadata, executionPrincipal, attempt } = run
  const about = {
    messageId,
    agentId,
    sessionId: run.sessionId,
    ...(metadata && { metadata }),
    executionPrincipal,
    attempt,
  }
  return {
    sessionId,
    prompt: [...historyBlocks(history), { type: 'text', text: message }],
    _meta: { ...run.trace, [META_KEY]: about },
  }
}

/** Formats the history as JSON, so that no text in it can pass for another turn. */
function historyBlocks(history: readonly Turn[]): ContentBlock[] {
  if (history.length === 0) return []
  const turns = history.map(({ message, response }) => ({ user: message, you: response }))
  const text = [
    'This conversation started earlier. Its latest turns as JSON, oldest first:',
    JSON.stringify(turns),
    'The conversation continues here:',
  ].join('\n')
  return [{ type: 'text', text }]
}

function outcomeOf(stopReason: string | undefined, text: string): FinishedRun {
  switch (stopReason) {
    case 'end_turn':
      return { kind: 'answered', response: text }
    case 'max_tokens':
    case 'max_turn_requests':
      return text === ''
        ? failedRun('RUNTIME_ERROR', `the agent reached its limit (${stopReason}) before any text`)
        : { kind: 'answered', response: text }
    case 'refusal': {
      const message = text === '' ? 'the agent refused' : `the agent refused: ${text}`
      return failedRun('RUNTIME_ERROR', storable(message))
    }
    case 'cancelled':
      return failedRun('RUNTIME_ERROR', 'the agent cancelled its turn')
    default:
      return failedRun('RESPONSE_INVALID', 'the agent ended its turn with an unknown stop reason')
  }
}

const tooLong = (maxLength: number): FinishedRun =>
  failedRun('RESPONSE_INVALID', `the agent's answer has more than ${maxLength} characters`)
