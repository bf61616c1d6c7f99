import {
  type AgentRuntime,
  defaultLimits,
  failure,
  success,
} from '@org/agent-messaging-core/runtime'
import type { AcpLimits } from './acp-agent.js'
import type { PermissionPolicy } from './acp-permissions.js'
import { namedPrograms, type ProgramOptions } from '../named-programs.js'
import type { Program } from '../program.js'

/** A program that speaks the Agent Client Protocol. */
export type AcpProgram = Program & {
  /** Which tools the agent can use when it requests a permission. The default is `deny`. */
  readonly permissions?: PermissionPolicy
  /** The id of a login method that needs no person, such as an API key in `env`. */
  readonly login?: string
}

export type AcpRuntimeOptions = ProgramOptions<AcpProgram> & {
  readonly limits?: Partial<AcpLimits>
}

const defaults: AcpLimits = {
  startTimeoutMs: 60_000,
  sessionTimeoutMs: 60_000,
  cancelGraceMs: 3_000,
  stopGraceMs: 5_000,
  waitingTurnMs: 86_400_000,
  maxWaitingTurns: 100,
  maxAnswerLength: defaultLimits.responseLength,
}

/**
 * Runs agents that speak the Agent Client Protocol v1 on stdin and stdout. Each agent has one
 * process, and each session has a session of the agent. The only option is `{program}`, a
 * configured name.
 */
export function acpRuntime(options: AcpRuntimeOptions): AgentRuntime {
  const limits = { ...defaults, ...options.limits }
  const { has, optionsSchema, parseOptions, start } = namedPrograms('acp', options)
  return {
    kind: 'acp',
    signsRequests: false,
    exclusive: true,
    has,
    optionsSchema,
    parseOptions,
    start: async ({ agent }, onExit, signal) => {
      const { AcpAgent, AcpConnection, agentExited, programEnd, reasonOf, shakeHands } =
        await import('./acp-start.js')
      const started = start(agent)
      if (!started.ok) return started
      const { program, child, log } = started.value
      const { permissions = 'deny', login, cwd } = program
      const connection = new AcpConnection(child, permissions, {
        onDecision: (decision) => log(decision, 'program.permission'),
        onStray: (line, why) => log({ line, why }, 'program.stray_line'),
      })
      const ended = programEnd(child, connection, limits.stopGraceMs)
      try {
        const timeoutMs = limits.startTimeoutMs
        const info = await shakeHands(connection, login, { timeoutMs, signal })
        return success(new AcpAgent({ limits, cwd, connection, info, ended, onExit }))
      } catch (error) {
        const hasEnded = connection.closed.aborted
        connection.close()
        const reason = await ended
        return failure(agentExited(hasEnded ? reason : `did not start: ${reasonOf(error)}`))
      }
    },
  }
}
