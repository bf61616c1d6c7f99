import type { LoadSessionRequest, NewSessionRequest } from '@agentclientprotocol/sdk'
import { isStorableText, type RunRequest, type Turn } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import type { AcpConnection } from './acp-connection.js'
import { InvalidResponse } from './acp-failure.js'
import type { AgentInfo } from './acp-handshake.js'
import { methods, RequestError } from './acp-sdk.js'

export type AcpSessionsOptions = {
  readonly connection: Pick<AcpConnection, 'request'>
  readonly agent: AgentInfo
  readonly cwd: string
  readonly timeoutMs: number
}

/** How much history a new session of the agent receives. */
const HISTORY = { maxTurns: 20, maxLength: 32_000 }
const MAX_ID_LENGTH = 1_000
const REQUEST_CANCELLED = RequestError.requestCancelled().code
const AUTH_REQUIRED = RequestError.authRequired().code

const created = z.object({ sessionId: z.string().min(1).max(MAX_ID_LENGTH).refine(isStorableText) })

/** `new`: the agent lacks the history. `abandoned`: a cancelled turn can still be running. */
type Session = { readonly serviceSession: string; readonly state: 'new' | 'open' | 'abandoned' }

/** The agent's sessions. Each belongs to one session of the service. */
export class AcpSessions {
  readonly #options: AcpSessionsOptions
  /** The sessions that this agent process opened, by the agent's id. */
  readonly #sessions = new Map<string, Session>()

  constructor(options: AcpSessionsOptions) {
    this.#options = options
  }

  /**
   * Returns the session of the earlier runs, reopened if necessary and possible, or else a new one.
   * `remember` stores the id of a new one first. The agent does not know the turns in `history`.
   */
  async open(
    run: RunRequest,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly history: readonly Turn[] }> {
    const { sessionState: known } = run
    const isOpen = known !== undefined && (await this.#reopen(known, run.sessionId, signal))
    const id = isOpen ? known : await this.#create(run, signal)
    const isNew = this.#sessions.get(id)?.state === 'new'
    return { id, history: isNew ? await run.history(HISTORY) : [] }
  }

  /** The agent ended a turn, so it knows the history. */
  turnEnded(id: string): void {
    this.#setState(id, 'open')
  }

  /** Excludes a session with a turn that did not end. */
  abandon(id: string): void {
    this.#setState(id, 'abandoned')
  }

  /** The agent dropped the session. The next run reopens it. */
  forget(id: string): void {
    this.#sessions.delete(id)
  }

  #setState(id: string, state: 'open' | 'abandoned') {
    const session = this.#sessions.get(id)
    if (session) this.#sessions.set(id, { ...session, state })
  }

  /** Returns whether the session is open now. */
  async #reopen(id: string, serviceSession: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#sessions.get(id)
    // A restarted agent that numbers its sessions reuses the numbers for other sessions.
    if (known) return known.serviceSession === serviceSession && known.state !== 'abandoned'
    const { connection, agent, cwd, timeoutMs } = this.#options
    if (!agent.canResume && !agent.canLoad) return false
    // An agent replays a session that it loads. The connection ignores the replay.
    const method = agent.canResume ? methods.agent.session.resume : methods.agent.session.load
    const params: LoadSessionRequest = { sessionId: id, cwd, mcpServers: [] }
    try {
      await connection.request(method, params, { signal, timeoutMs })
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
    this.#sessions.set(id, { serviceSession, state: 'open' })
    return true
  }

  async #create(run: RunRequest, signal: AbortSignal): Promise<string> {
    const { connection, cwd, timeoutMs } = this.#options
    const params: NewSessionRequest = { cwd, mcpServers: [] }
    const limits = { signal, timeoutMs }
    const response = await connection.request(methods.agent.session.new, params, limits)
    const id = created.safeParse(response).data?.sessionId
    if (id === undefined)
      throw new InvalidResponse("the agent's new session has no id that can be stored")
    // Two sessions with one id would receive each other's answers.
    if (this.#sessions.has(id))
      throw new InvalidResponse('the agent gave a new session the id of another session')
    this.#sessions.set(id, { serviceSession: run.sessionId, state: 'new' })
    await run.remember(id)
    return id
  }
}

/** The agent does not know the session or cannot read it. Agents use many codes for that. */
const isRefusal = (error: unknown) =>
  error instanceof RequestError && error.code !== REQUEST_CANCELLED && error.code !== AUTH_REQUIRED
