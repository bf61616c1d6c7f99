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
import { AcpSessions } from './acp-sessions.js'
import { MessageTooLong } from './acp-stream.js'
import { runTurn } from './acp-turn.js'
import type { Child } from './child.js'
import { within } from './within.js'

export type AcpLimits = {
  /**
   * From the start to the end of the handshake. The default gives `npx` time to fetch a package.
   */
  readonly startTimeoutMs: number
  /** The time to open a session. Some agents read a long session from disk. */
  readonly sessionTimeoutMs: number
  /** From a cancellation to the end of the run. Core waits 5 s for an aborted run. */
  readonly cancelGraceMs: number
  /** From SIGTERM to SIGKILL. */
  readonly stopGraceMs: number
  /** In UTF-16 units. */
  readonly maxAnswerLength: number
}

export type AcpAgentOptions = {
  readonly limits: AcpLimits
  /** The working directory of the agent's sessions. The default is the service's own. */
  readonly cwd: string | undefined
  readonly connection: AcpConnection
  readonly info: AgentInfo
  /** Resolves with the reason when the program has ended. */
  readonly ended: Promise<string>
  onExit(error: RunError): void
}

/**
 * From the end of the connection to SIGTERM. Agents exit when stdin ends, with a meaningful code.
 */
const EXIT_TIMEOUT_MS = 1_000

/** An agent that runs as one program and speaks the Agent Client Protocol. */
export class AcpAgent implements RunningAgent {
  readonly #options: AcpAgentOptions
  readonly #sessions: AcpSessions
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
    void ended.then((reason) => {
      if (!this.#isStopped) onExit(agentExited(reason))
    })
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    const { connection, limits, ended, info } = this.#options
    try {
      return await runTurn({ connection, sessions: this.#sessions, ...limits }, request, signal)
    } catch (error) {
      if (connection.closed.aborted) {
        const reason = this.#isStopped ? 'was stopped' : await ended
        return failedRun('RUNTIME_LOST', `the agent ${reason}`, true)
      }
      // An idle agent that does not answer will not recover. The supervisor restarts it.
      if (error instanceof AgentTimeout && connection.turns.size === 0) connection.close(error)
      return failureOf(error, info.logins)
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

/** Ends the program after its connection has ended. Resolves with the reason of the end. */
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
