import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import { parseQuestion } from '@org/agent-messaging-core/runtime'
import { readUpdate, type AcpAnswer } from './acp-answer.js'
import { AgentTimeout } from './acp-failure.js'
import { decidePermission, type PermissionPolicy, type ToolKind } from './acp-permissions.js'
import { client, methods } from './acp-sdk.js'
import { agentStream, sentTooLong, type AgentPipes } from './acp-stream.js'
import { permissionQuestion, readToolCall } from './acp-tool-call.js'
import type { TurnQuestions } from './acp-turn-questions.js'

export type RequestLimits = {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

/** `signal` aborts when the service has asked the agent to end the turn. */
type OpenTurn = {
  readonly answer: AcpAnswer
  readonly signal: AbortSignal
  readonly questions: TurnQuestions
}

type PermissionDecision = {
  readonly line: string
  readonly toolKind: ToolKind
  readonly answer: string
}

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

export type ConnectionEvents = {
  onDecision(decision: PermissionDecision): void
  /** Receives invalid lines of stdout. */
  onStray(line: string, why: string): void
}

/** The connection to one agent process. Session ids are the agent's, not the service's. */
export class AcpConnection {
  /** The running turns by session id. Reports about other sessions are ignored. */
  readonly turns = new Map<string, OpenTurn>()
  readonly #permissions: PermissionPolicy
  readonly #events: ConnectionEvents
  readonly #connection

  constructor(pipes: AgentPipes, permissions: PermissionPolicy, events: ConnectionEvents) {
    this.#permissions = permissions
    this.#events = events
    const stream = agentStream(pipes, {
      onUpdate: (params) => this.#onUpdate(params),
      onStray: (line, why) => events.onStray(line, why),
      onTooLong: (sessionId) => this.turns.get(sessionId)?.answer.refuse(sentTooLong),
    })
    this.#connection = client({ name: 'agent-messaging' })
      .onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
        this.#onPermissionRequest(params, signal),
      )
      .connect(stream)
  }

  /** Aborts when the connection ends. */
  get closed(): AbortSignal {
    return this.#connection.signal
  }

  /** `reason` becomes the reason of `closed`. */
  close(reason?: Error): void {
    this.#connection.close(reason)
  }

  /**
   * Sends a request and returns the unchecked result. Rejects with the agent's `RequestError`, with
   * `AgentTimeout`, with the signal's reason, and when the connection closes.
   */
  async request(
    method: string,
    params: object,
    { signal, timeoutMs }: RequestLimits,
  ): Promise<unknown> {
    const aborter = new AbortController()
    const abort = () => aborter.abort(signal?.reason)
    const expire = () =>
      aborter.abort(new AgentTimeout(`the agent did not answer ${method} within ${timeoutMs} ms`))
    if (signal?.aborted) throw signal.reason
    signal?.addEventListener('abort', abort)
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs)
    try {
      const options = { cancellationSignal: aborter.signal, stopWaitingOnCancel: true }
      return await this.#connection.agent.request<unknown, object>(method, params, options)
    } catch (error) {
      throw aborter.signal.aborted ? aborter.signal.reason : error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  notify(method: string, params: object): void {
    // A notification fails only after the connection has closed.
    this.#connection.agent.notify<object>(method, params).catch(() => undefined)
  }

  #onUpdate(params: unknown) {
    const report = readUpdate(params)
    if (report) this.turns.get(report.sessionId)?.answer.add(report.update)
  }

  async #onPermissionRequest(
    { sessionId, toolCall, options }: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const turn = this.turns.get(sessionId)
    if (!turn || turn.signal.aborted) return CANCELLED
    const call = { ...turn.answer.callOf(toolCall.toolCallId), ...readToolCall(toolCall) }
    const { kind: toolKind = 'other', title: line = '' } = call
    const decision = decidePermission(this.#permissions, toolKind)
    let option: PermissionOption | undefined
    if (decision === 'ask') {
      this.#events.onDecision({ line, toolKind, answer: decision })
      const question = permissionQuestion(call, options)
      const isValid = typeof parseQuestion(question) !== 'string'
      const value = isValid ? await turn.questions.ask(question, signal) : undefined
      option = options[question.options.findIndex((label) => label === value)]
    } else {
      option = policyOption(decision, options)
    }
    this.#events.onDecision({ line, toolKind, answer: option?.kind ?? 'cancelled' })
    return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED
  }
}

/**
 * Returns the option that the policy chooses, if one fits. The policy never allows permanently,
 * because agents store that, and a stricter policy would come too late.
 */
function policyOption(
  decision: 'allow' | 'deny',
  options: readonly PermissionOption[],
): PermissionOption | undefined {
  const find = (kind: PermissionOption['kind']) => options.find((option) => option.kind === kind)
  return decision === 'allow' ? find('allow_once') : (find('reject_once') ?? find('reject_always'))
}
