import {
  client,
  methods,
  PROTOCOL_VERSION,
  type AuthenticateRequest,
  type InitializeRequest,
  type ToolKind,
} from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { Answer } from './acp-answer.js'
import { AgentLate, AnswerInvalid } from './acp-failure.js'
import { decidePermission, type PermissionPolicy } from './acp-permissions.js'
import { agentStream, type AgentPipes } from './acp-stream.js'
import { readUpdate } from './acp-updates.js'

/** The two ends of one agent process. Session ids in here are the agent's, not ours. */
export type AcpConnection = {
  /**
   * Rejects with the agent's `RequestError`, with `AgentLate` after `timeoutMs`, with the signal's reason when that aborts, and
   * when the connection closes. What comes back is as the agent sent it.
   */
  ask(method: string, params: object, bounds: Bounds): Promise<unknown>
  tell(method: string, params: object): void
  /** Turns that are under way. What an agent reports of any other session is dropped. */
  readonly turns: Map<string, OpenTurn>
  /** Aborts when the agent's end is gone, or has sent what no connection survives. */
  readonly closed: AbortSignal
  /** `why` is then the reason of `closed`. */
  close(why?: Error): void
}

type Bounds = { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number }

/** `signal` aborts when the agent has been asked to end the turn. */
type OpenTurn = { readonly answer: Answer; readonly signal: AbortSignal }

/** What an agent asked leave for, in its own words, and what it was told. */
type PermissionDecision = {
  readonly line: string
  readonly toolKind: ToolKind
  readonly answer: string
}

export type ConnectionEvents = {
  onDecision(decision: PermissionDecision): void
  /** A line of the agent's stdout that could not be used. */
  onStray(line: string, why: string): void
}

export function connectAcp(
  pipes: AgentPipes,
  permissions: PermissionPolicy,
  { onDecision, onStray }: ConnectionEvents,
): AcpConnection {
  const turns = new Map<string, OpenTurn>()
  const onUpdate = (params: unknown) => {
    const report = readUpdate(params)
    if (report) turns.get(report.sessionId)?.answer.take(report.update)
  }
  const stream = agentStream(pipes, { onUpdate, onStray })
  const connection = client({ name: 'agent-messaging' })
    .onRequest(
      methods.client.session.requestPermission,
      ({ params: { sessionId, toolCall, options } }) => {
        const turn = turns.get(sessionId)
        if (!turn || turn.signal.aborted) return { outcome: { outcome: 'cancelled' } }
        const toolKind = toolCall.kind ?? turn.answer.kindOf(toolCall.toolCallId) ?? 'other'
        const option = decidePermission(permissions, toolKind, options)
        onDecision({ line: toolCall.title ?? '', toolKind, answer: option?.kind ?? 'cancelled' })
        return {
          outcome: option
            ? { outcome: 'selected', optionId: option.optionId }
            : { outcome: 'cancelled' },
        }
      },
    )
    .connect(stream)

  return {
    async ask(method, params, { signal, timeoutMs }) {
      const aborter = new AbortController()
      const abort = () => aborter.abort(signal?.reason)
      const late = () =>
        aborter.abort(new AgentLate(`the agent did not answer ${method} within ${timeoutMs} ms`))
      if (signal?.aborted) throw signal.reason
      signal?.addEventListener('abort', abort)
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs)
      try {
        const options = { cancellationSignal: aborter.signal, stopWaitingOnCancel: true }
        return await connection.agent.request<unknown, object>(method, params, options)
      } catch (error) {
        throw aborter.signal.aborted ? aborter.signal.reason : error
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
    },
    tell(method, params) {
      // It fails only when the connection has closed, and then there is nobody to tell.
      connection.agent.notify<object>(method, params).catch(() => undefined)
    },
    turns,
    closed: connection.signal,
    close: (why) => connection.close(why),
  }
}

export type Introduction = {
  readonly canLoad: boolean
  readonly canResume: boolean
  /** Ids of the ways to log in that it offers. */
  readonly logins: readonly string[]
}

const introduction = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().optional(),
      sessionCapabilities: z.object({ resume: z.object({}).nullish() }).nullish(),
    })
    .nullish(),
  authMethods: z.array(z.object({ id: z.string() })).nullish(),
})

/** The handshake, and the login if one is wanted. Rejects as `ask` does, and when the agent speaks no version of the protocol that we do. */
export async function shakeHands(
  { ask }: AcpConnection,
  login: string | undefined,
  bounds: Bounds,
): Promise<Introduction> {
  // No file system and no terminal of ours: what the agent does, it does as its own process.
  const request: InitializeRequest = {
    ...{ protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} },
    clientInfo: { name: 'agent-messaging', version: '0.1.0' },
  }
  const { data } = introduction.safeParse(await ask(methods.agent.initialize, request, bounds))
  if (!data) throw new AnswerInvalid('its answer to initialize is not what the protocol says')
  if (data.protocolVersion !== PROTOCOL_VERSION) {
    throw new AnswerInvalid(
      `it speaks version ${data.protocolVersion} of the protocol, and this service version ${PROTOCOL_VERSION}`,
    )
  }
  if (login !== undefined)
    await ask(methods.agent.authenticate, { methodId: login } satisfies AuthenticateRequest, bounds)
  const { loadSession, sessionCapabilities } = data.agentCapabilities ?? {}
  return {
    canLoad: loadSession === true,
    canResume: Boolean(sessionCapabilities?.resume),
    logins: (data.authMethods ?? []).map(({ id }) => id),
  }
}
