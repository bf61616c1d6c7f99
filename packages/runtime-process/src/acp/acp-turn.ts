import type { CancelNotification, ContentBlock, PromptRequest } from '@agentclientprotocol/sdk'
import {
  failedRun,
  isSameQuestion,
  type AskingRun,
  type EndedRun,
  type FinishedRun,
  type InputPart,
  type RunRequest,
  type Turn,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { AcpAnswer } from './acp-answer.js'
import type { AcpConnection } from './acp-connection.js'
import { isSessionUnknown, storable, AgentTimeout } from './acp-failure.js'
import { methods } from './acp-sdk.js'
import type { AcpSessions } from './acp-sessions.js'
import { TurnQuestions } from './acp-turn-questions.js'

export type TurnDeps = {
  readonly connection: AcpConnection
  readonly sessions: AcpSessions
  readonly maxAnswerLength: number
  readonly cancelGraceMs: number
}

/** The key in `_meta` for facts that the protocol has no field for. */
const META_KEY = 'agent-messaging'

const promptResponse = z.object({ stopReason: z.string() })

/** Opens the session and starts a turn. Rejects like `request`. */
export async function startTurn(
  d: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<AcpTurn> {
  const { id, history } = await d.sessions.open(run, signal)
  signal.throwIfAborted()
  return new AcpTurn(d, run, { id, history })
}

/**
 * One turn of the agent, from its prompt to the agent's last word. It stays open over several runs
 * of its message if the agent asks a person.
 */
export class AcpTurn {
  readonly #d: TurnDeps
  readonly #messageId: string
  readonly #answer: AcpAnswer
  readonly #questions: TurnQuestions
  readonly #cancellation: Cancellation
  /** Rejects like `request`. */
  readonly #ended: Promise<FinishedRun>
  /** The question that the turn waits for, and its place among the message's questions. */
  #asked: { readonly question: AskingRun; readonly place: number } | undefined
  #emit: RunRequest['emit'] = () => undefined

  constructor(
    d: TurnDeps,
    run: RunRequest,
    session: { readonly id: string; readonly history: readonly Turn[] },
  ) {
    this.#d = d
    this.#messageId = run.messageId
    this.#questions = new TurnQuestions(run.inputs)
    this.#cancellation = new Cancellation(d, session.id, () => this.#questions.close())
    this.#answer = new AcpAnswer({
      maxLength: d.maxAnswerLength,
      emit: (emitted) => this.#emit(emitted),
      onRefused: () => this.#cancellation.start(),
    })
    d.connection.turns.set(session.id, {
      answer: this.#answer,
      signal: this.#cancellation.started,
      questions: this.#questions,
    })
    this.#ended = this.#prompt(session.id, promptOf(session.id, session.history, run))
    // A waiting turn can fail before the next run reads its end.
    this.#ended.catch(() => undefined)
  }

  get isEnding(): boolean {
    return this.#cancellation.started.aborted
  }

  /** Resolves at the end of the turn, or at its next question. Rejects like `request`. */
  async advance(run: RunRequest, signal: AbortSignal): Promise<EndedRun> {
    const cancel = () => this.#cancellation.start()
    this.#emit = (emitted) => run.emit(emitted)
    // Each run streams the whole answer.
    for (const emitted of this.#answer.emitted) run.emit(emitted)
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    try {
      const next = await Promise.race([this.#ended, this.#questions.next()])
      if (next.kind !== 'input_required' || this.isEnding) return await this.#ended
      this.#asked = { question: next, place: run.inputs?.length ?? 0 }
      return next
    } finally {
      signal.removeEventListener('abort', cancel)
      this.#emit = () => undefined
    }
  }

  /** Takes the answer to the question of this turn. False if the run does not continue the turn. */
  takeAnswer({ messageId, inputs = [] }: RunRequest): boolean {
    const answer = inputs.at(-1)
    const isMine =
      !this.isEnding &&
      messageId === this.#messageId &&
      inputs.length - 1 === this.#asked?.place &&
      answer !== undefined &&
      isSameQuestion(answer, this.#asked.question)
    if (isMine) this.#questions.give(answer)
    return isMine
  }

  /** Cancels the turn, and resolves at its end. */
  async end(): Promise<void> {
    this.#cancellation.start()
    await this.#ended.catch(() => undefined)
  }

  async #prompt(sessionId: string, prompt: PromptRequest): Promise<FinishedRun> {
    const { connection, sessions } = this.#d
    const { expired } = this.#cancellation
    try {
      const method = methods.agent.session.prompt
      const response = await connection.request(method, prompt, { signal: expired })
      sessions.turnEnded(sessionId)
      const stopReason = promptResponse.safeParse(response).data?.stopReason
      return refusedOf(this.#answer) ?? outcomeOf(stopReason, this.#answer.text)
    } catch (error) {
      if (isSessionUnknown(error)) sessions.forget(sessionId)
      if (!expired.aborted) throw error
      sessions.abandon(sessionId)
      return (
        refusedOf(this.#answer) ??
        failedRun('RUNTIME_TIMEOUT', 'the agent did not end its turn when it was cancelled')
      )
    } finally {
      this.#cancellation.dispose()
      this.#questions.close()
      connection.turns.delete(sessionId)
    }
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
    prompt: [
      ...historyBlocks(history),
      { type: 'text', text: message },
      ...(run.parts ?? []).flatMap(linkOf),
    ],
    _meta: { ...run.trace, [META_KEY]: about },
  }
}

/** Each agent takes links. The agent reads the file, not the service. */
function linkOf(part: InputPart): ContentBlock[] {
  if (part.type !== 'file') return []
  const { url: uri, mediaType: mimeType, filename: name = uri, size } = part
  return [{ type: 'resource_link', uri, name, mimeType, ...(size !== undefined && { size }) }]
}

/** As JSON, so that no text in the history can pass for another turn. */
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

const refusedOf = ({ problem }: AcpAnswer) =>
  problem === undefined ? undefined : failedRun('RESPONSE_INVALID', problem)

type CancellationDeps = {
  readonly connection: Pick<AcpConnection, 'notify'>
  readonly cancelGraceMs: number
}

/** Asks the agent once to end a turn. `expired` aborts if the agent has not done so in time. */
class Cancellation {
  readonly #d: CancellationDeps
  readonly #sessionId: string
  readonly #onStart: () => void
  readonly #started = new AbortController()
  readonly #expired = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(d: CancellationDeps, sessionId: string, onStart: () => void) {
    this.#d = d
    this.#sessionId = sessionId
    this.#onStart = onStart
  }

  get started(): AbortSignal {
    return this.#started.signal
  }

  get expired(): AbortSignal {
    return this.#expired.signal
  }

  start(): void {
    if (this.started.aborted) return
    this.#started.abort()
    this.#onStart()
    const params: CancelNotification = { sessionId: this.#sessionId }
    this.#d.connection.notify(methods.agent.session.cancel, params)
    const expire = () => this.#expired.abort(new AgentTimeout('the agent did not end its turn'))
    this.#timer = setTimeout(expire, this.#d.cancelGraceMs)
  }

  dispose(): void {
    clearTimeout(this.#timer)
  }
}
