import type { AgentRuntime } from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import type { Program } from './program.js'

const NO_PROGRAMS =
  'program must name a configured program, and this server has none (start it with --agents)'

/**
 * Resolves the operator's programs by the agents' option `program`. Agents have no other option.
 */
export type NamedPrograms<P extends Program> = Required<
  Pick<AgentRuntime, 'parseOptions' | 'has'>
> & { find(name: unknown): P | undefined }

export function namedPrograms<P extends Program>(
  kind: string,
  programs: Readonly<Record<string, P>>,
): NamedPrograms<P> {
  const names = Object.keys(programs)
  const find = (name: unknown): P | undefined =>
    typeof name === 'string' && Object.hasOwn(programs, name) ? programs[name] : undefined
  return {
    find,
    has: ({ program }) => find(program) !== undefined,
    parseOptions: async ({ program, ...rest }) => {
      if (names.length === 0) return err(NO_PROGRAMS)
      if (!find(program)) return err(`program must be one of: ${names.join(', ')}`)
      const [unknown] = Object.keys(rest)
      return unknown === undefined
        ? ok({ options: { program: program as string }, secrets: {} })
        : err(`${unknown} is not an option of ${kind} agents`)
    },
  }
}
