import {
  type AgentRuntime,
  type Clock,
  failure,
  type PortResult,
  type RunError,
  type RuntimeAgent,
  success,
} from '@org/agent-messaging-core/runtime'
import { startChild, type Child } from './child.js'
import { limitedLog, type ProgramLog } from './program-log.js'
import type { Environment, Program } from './program.js'

const NO_PROGRAMS =
  'program must name a configured program, and this server has none (start it with --agents)'

export type ProgramOptions<P extends Program> = {
  /** Programs by name. An agent's option `program` names one. */
  readonly programs: Readonly<Record<string, P>>
  /** The service's environment. A program inherits a few basic and the named variables. */
  readonly environment: Environment
  readonly clock: Pick<Clock, 'now'>
  /** Receives at most 100 lines in ten seconds: stderr, invalid stdout, and ACP permissions. */
  readonly log?: ProgramLog
}

type Started<P> = {
  readonly program: P
  readonly child: Child
  readonly log: ReturnType<typeof limitedLog>
}

/** The operator's programs. Agents name one in `program`, their only option. */
export type NamedPrograms<P extends Program> = Required<
  Pick<AgentRuntime, 'parseOptions' | 'has' | 'optionsSchema'>
> & {
  /** Starts the agent's program and logs its stderr. */
  start(agent: RuntimeAgent['agent']): PortResult<Started<P>, RunError>
}

export function namedPrograms<P extends Program>(
  kind: string,
  { programs, environment, clock, log = () => undefined }: ProgramOptions<P>,
): NamedPrograms<P> {
  const names = Object.keys(programs)
  const find = (name: unknown) =>
    typeof name === 'string' && Object.hasOwn(programs, name) ? programs[name] : undefined
  return {
    has: ({ program }) => find(program) !== undefined,
    optionsSchema: () => ({
      properties: {
        program: { type: 'string', description: 'The name of a program of the server.' },
      },
      required: ['program'],
      additionalProperties: false,
    }),
    parseOptions: async ({ program, ...rest }) => {
      if (names.length === 0) return failure(NO_PROGRAMS)
      const known = names.join(', ')
      if (program === undefined) return failure(`program is required. It must be one of: ${known}`)
      if (!find(program)) return failure(`program must be one of: ${known}`)
      const [unknown] = Object.keys(rest)
      return unknown === undefined
        ? success({ options: { program: program as string }, secrets: {} })
        : failure(`${unknown} is not an option of ${kind} agents`)
    },
    start({ id: agentId, runtime }) {
      const { program: name } = runtime.options
      const program = find(name)
      const message = `this process has no program ${JSON.stringify(name)}`
      if (!program) return failure({ code: 'RUNTIME_EXITED', message })
      const limited = limitedLog(log, { agentId, program: name }, clock)
      const onStderrLine = (line: string) => limited({ line }, 'program.stderr')
      return success({
        program,
        child: startChild(program, { environment, onStderrLine }),
        log: limited,
      })
    },
  }
}
