import { type AgentRuntime, failure, partsWith, success } from '@org/agent-messaging-core/runtime'
import { defaultAcpLimits, type AcpLimits } from './acp-limits.js'
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

/**
 * Runs agents that speak the Agent Client Protocol v1 on stdin and stdout. Each agent has one
 * process, and each session has a session of the agent. The only option is `{program}`, a
 * configured name.
 */
export function acpRuntime(options: AcpRuntimeOptions): AgentRuntime {
  const limits = { ...defaultAcpLimits, ...options.limits }
  const { has, optionsSchema, parseOptions, start } = namedPrograms('acp', options)
  return {
    kind: 'acp',
    signsRequests: false,
    exclusive: true,
    accepts: ({ type }) =>
      type === 'file' ? undefined : 'is not supported: the agent takes text and files',
    has,
    optionsSchema,
    parseOptions: async (given) => {
      const parts = await loadParts()
      return parts.ok ? parseOptions(given) : parts
    },
    start: async ({ agent }, onExit, signal) => {
      const parts = await loadParts().catch(({ message }: Error) => failure(message))
      if (!parts.ok) return failure({ code: 'RUNTIME_EXITED', message: `the agent ${parts.error}` })
      const { AcpAgent, AcpConnection, agentExited, programEnd, reasonOf, shakeHands } = parts.value
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

/** Loads the parts that need the SDK. Says what to install if the SDK is missing. */
const loadParts = () => partsWith('@agentclientprotocol/sdk', import('./acp-start.js'))
