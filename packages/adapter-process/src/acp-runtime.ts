import { defaultLimits, type AgentRuntime, type Clock } from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import { AcpAgent, agentExited, programEnd, type AcpLimits } from './acp-agent.js'
import { AcpConnection } from './acp-connection.js'
import { reasonOf } from './acp-failure.js'
import { shakeHands } from './acp-handshake.js'
import type { PermissionPolicy } from './acp-permissions.js'
import { startChild } from './child.js'
import { namedPrograms } from './named-programs.js'
import { limitedLog, type ProgramLog } from './program-log.js'
import type { Environment, Program } from './program.js'

/** A program that speaks the Agent Client Protocol. */
export type AcpProgram = Program & {
  /** Which tools the agent can use when it asks. The default is `deny`. */
  readonly permissions?: PermissionPolicy
  /** The id of a login method that needs no person, such as an API key in `env`. */
  readonly login?: string
}

export type AcpRuntimeOptions = {
  /** Programs by name. An agent's option `program` names one. */
  readonly programs: Readonly<Record<string, AcpProgram>>
  /** The service's environment. A program inherits the variables that its entry names. */
  readonly environment: Environment
  readonly clock: Pick<Clock, 'now'>
  /**
   * Receives the lines on stderr, invalid lines on stdout, and permission requests with their
   * answers, at most 100 in ten seconds.
   */
  readonly log?: ProgramLog
  readonly limits?: Partial<AcpLimits>
}

const defaults: AcpLimits = {
  startTimeoutMs: 60_000,
  sessionTimeoutMs: 60_000,
  cancelGraceMs: 3_000,
  stopGraceMs: 5_000,
  maxAnswerLength: defaultLimits.responseLength,
}

/**
 * Runs agents that speak the Agent Client Protocol v1 on stdin and stdout. Each agent has one
 * process, and each session of the service has one session of the agent. The only option is
 * `{program}`, the name of a program that the operator configures.
 */
export function acpRuntime({
  programs,
  environment,
  clock,
  log = () => undefined,
  ...options
}: AcpRuntimeOptions): AgentRuntime {
  const limits = { ...defaults, ...options.limits }
  const { find, has, parseOptions } = namedPrograms('acp', programs)
  return {
    kind: 'acp',
    signsRequests: false,
    exclusive: true,
    has,
    parseOptions,
    start: async ({ agent }, onExit, signal) => {
      const name = agent.runtime.options['program']
      const program = find(name)
      if (!program)
        return err({
          code: 'RUNTIME_EXITED',
          message: `this process has no program ${JSON.stringify(name)}`,
        })
      const write = limitedLog(log, { agentId: agent.id, program: name }, clock)
      const onStderrLine = (line: string) => write({ line }, 'program.stderr')
      const child = startChild(program, { environment, onStderrLine })
      const connection = new AcpConnection(child, program.permissions ?? 'deny', {
        onDecision: (decision) => write(decision, 'program.permission'),
        onStray: (line, why) => write({ line, why }, 'program.stray_line'),
      })
      const ended = programEnd(child, connection, limits.stopGraceMs)
      try {
        const timeoutMs = limits.startTimeoutMs
        const info = await shakeHands(connection, program.login, { timeoutMs, signal })
        const { cwd } = program
        return ok(new AcpAgent({ limits, cwd, connection, info, ended, onExit }))
      } catch (error) {
        const hasEnded = connection.closed.aborted
        connection.close()
        const reason = await ended
        return err(agentExited(hasEnded ? reason : `did not start: ${reasonOf(error)}`))
      }
    },
  }
}
