import type { AgentRuntime } from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import type { Program } from './program.js'

const NONE_GIVEN =
  'program must name a program of the operator’s, and this server was started without any (--agents)'

/** The operator's programs, as agents name them: the option `program`, and no other. */
export type NamedPrograms<P extends Program> = Required<
  Pick<AgentRuntime, 'parseOptions' | 'has'>
> & { find(name: unknown): P | undefined }

export function namedPrograms<P extends Program>(
  kind: string,
  programs: Readonly<Record<string, P>>,
): NamedPrograms<P> {
  const find = (name: unknown): P | undefined =>
    typeof name === 'string' && Object.hasOwn(programs, name) ? programs[name] : undefined
  const isNoneGiven = Object.keys(programs).length === 0
  return {
    find,
    has: ({ program }) => find(program) !== undefined,
    parseOptions: async ({ program, ...rest }) => {
      if (!find(program))
        return err(
          isNoneGiven ? NONE_GIVEN : `program must be one of: ${Object.keys(programs).join(', ')}`,
        )
      const stray = Object.keys(rest)[0]
      return stray === undefined
        ? ok({ options: { program: program as string }, secrets: {} })
        : err(`${stray} is not an option of ${kind} agents`)
    },
  }
}
