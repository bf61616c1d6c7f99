import { once } from 'node:events'
import path from 'node:path'
import {
  failedRun,
  type RunError,
  type RunningAgent,
  type RunOutcome,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import type { AcpConnection } from './acp-connection.js'
import { AgentTimeout, failureOf } from './acp-failure.js'
import type { AgentInfo } from './acp-handshake.js'
import type { AcpLimits } from './acp-limits.js'
import { AcpSessions } from './acp-sessions.js'
import { MessageTooLong } from './acp-stream.js'
import { startTurn, type AcpTurn } from './acp-turn.js'
import type { Child } from '../child.js'
import { within } from '../within.js'

export type AcpAgentOptions = {
  readonly limits: AcpLimits
  readonly cwd: string | undefined
  readonly connection: AcpConnection
  readonly info: AgentInfo
  /** Resolves with the reason when the program has ended. */
  readonly ended: Promise<string>
  onExit(error: RunError): void
}

/** From the end of the connection to SIGTERM. Most agents exit when stdin ends. */
const EXIT_TIMEOUT_MS = 1_000

/** An agent that speaks the Agent Client Protocol in one program. */
export class AcpAgent implements RunningAgent {
  readonly #options: AcpAgentOptions
  readonly #sessions: AcpSessions
  readonly #waiting: WaitingTurns
  /** Turns that the agent works on. Waiting turns do not count. */
  #workingTurns = 0
  #isStopped = false

  constructor(options: AcpAgentOptions) {
    const { connection, info, limits, cwd = '', ended, onExit } = options
    this.#options = options
    this.#sessions = new AcpSessions({
      connection,
      agent: info,
      cwd: path.resolve(cwd),
      timeoutMs: limits.sessionTimeoutMs,
    })
    this.#waiting = new WaitingTurns(limits)
    void ended.then((reason) => {
      this.#waiting.clear()
      if (!this.#isStopped) onExit(agentExited(reason))
    })
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    const { connection, limits, ended, info } = this.#options
    try {
      const deps = { connection, sessions: this.#sessions, ...limits }
      const waiting = await this.#waiting.take(request)
      const turn = waiting ?? (await startTurn(deps, request, signal))
      const outcome = await this.#advance(turn, request, signal)
      if (outcome.kind === 'input_required') this.#waiting.keep(request.sessionId, turn)
      return outcome
    } catch (error) {
      if (connection.closed.aborted) {
        const reason = this.#isStopped ? 'was stopped' : await ended
        return failedRun('RUNTIME_LOST', `the agent ${reason}`, true)
      }
      // An idle agent that does not answer will not recover. The supervisor restarts it.
      if (error instanceof AgentTimeout && this.#workingTurns === 0) connection.close(error)
      return failureOf(error, info.logins)
    }
  }

  async #advance(turn: AcpTurn, request: RunRequest, signal: AbortSignal) {
    this.#workingTurns += 1
    try {
      return await turn.advance(request, signal)
    } finally {
      this.#workingTurns -= 1
    }
  }

  /** Checks only that the connection is open, because the protocol has no ping. */
  async health(): Promise<{ ok: boolean; detail?: string }> {
    return this.#options.connection.closed.aborted
      ? { ok: false, detail: 'the agent closed its connection' }
      : { ok: true }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#options.connection.close()
    await this.#options.ended
  }
}

/** Ends the program after its connection ended. Resolves with the reason. */
export async function programEnd(
  child: Child,
  { closed }: AcpConnection,
  stopGraceMs: number,
): Promise<string> {
  await once(closed, 'abort')
  child.stdin.end()
  await within(EXIT_TIMEOUT_MS, child.exited, undefined)
  await child.stop(stopGraceMs)
  const cause: unknown = closed.reason
  if (cause instanceof MessageTooLong) return `sent ${cause.message}`
  if (cause instanceof AgentTimeout) return 'was ended because it stopped responding'
  return (await child.exited).reason
}

export const agentExited = (reason: string): RunError => ({
  code: 'RUNTIME_EXITED',
  message: `the agent ${reason}`,
})

type WaitingLimits = { readonly waitingTurnMs: number; readonly maxWaitingTurns: number }

type Waiting = { readonly turn: AcpTurn; readonly timer: NodeJS.Timeout }

/** The open turns whose message waits for a person, by session of the service. */
class WaitingTurns {
  readonly #limits: WaitingLimits
  readonly #waiting = new Map<string, Waiting>()

  constructor(limits: WaitingLimits) {
    this.#limits = limits
  }

  keep(sessionId: string, turn: AcpTurn): void {
    const { waitingTurnMs, maxWaitingTurns } = this.#limits
    const timer = setTimeout(() => void this.#end(sessionId), waitingTurnMs)
    this.#waiting.set(sessionId, { turn, timer })
    const live = [...this.#waiting].filter(([, waiting]) => !waiting.turn.isEnding)
    const [oldest] = live[0] ?? []
    if (oldest !== undefined && live.length > maxWaitingTurns) void this.#end(oldest)
  }

  /**
   * Returns the waiting turn that the answers of the run continue. Ends any other waiting turn
   * first.
   */
  async take(run: RunRequest): Promise<AcpTurn | undefined> {
    const { sessionId } = run
    const turn = this.#waiting.get(sessionId)?.turn
    if (turn?.takeAnswer(run)) {
      this.#remove(sessionId)
      return turn
    }
    await this.#end(sessionId)
    return undefined
  }

  /** Removes all turns, because the program has ended. */
  clear(): void {
    for (const sessionId of this.#waiting.keys()) this.#remove(sessionId)
  }

  async #end(sessionId: string) {
    const waiting = this.#waiting.get(sessionId)
    await waiting?.turn.end()
    if (this.#waiting.get(sessionId) === waiting) this.#remove(sessionId)
  }

  #remove(sessionId: string) {
    clearTimeout(this.#waiting.get(sessionId)?.timer)
    this.#waiting.delete(sessionId)
  }
}
