import type { Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { onBackend, type Backend } from './backend.js'
import { orRefusal } from './client-error.js'
import { withBackend, withServer, type BackendOptions } from './options.js'
import { print } from './output.js'

export const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
/** Arguments for examples. */
const SAMPLES: Readonly<Record<string, string>> = {
  id: ID,
  'message-id': ID,
  agent: 'support',
  session: 'customer-42',
}

/**
 * Adds a command. Its help ends with the examples and the notes. Without examples, the help shows
 * the command with sample arguments.
 */
export function addCommand(
  parent: Command,
  syntax: string,
  about: string,
  examples: readonly string[] = [],
  notes = '',
): Command {
  const command = parent.command(syntax).description(about)
  const lines = (examples.length > 0 ? examples : [sampleOf(command)]).map((line) => `  $ ${line}`)
  const title = lines.length > 1 ? 'Examples' : 'Example'
  return command.addHelpText('after', `\n${title}:\n${lines.join('\n')}\n${notes}`)
}

function sampleOf(command: Command) {
  const words = command.registeredArguments.map((argument) => SAMPLES[argument.name()] ?? '')
  for (let at: Command | null = command; at; at = at.parent) words.unshift(at.name())
  return words.join(' ')
}

/** The backend, with the parsed options of the command. */
export type Invocation<Options> = Backend & { readonly options: BackendOptions & Options }

/** A command that calls the API. `words` are its arguments. */
type ApiCommand<Value, Options> = {
  readonly about: string
  readonly examples?: readonly string[]
  readonly notes?: string
  /** True if the operator key is needed, and not the API key of a project. */
  readonly isOfOperator?: true
  /** With the thing, completes "cannot …". Default: the name of the command. */
  readonly verb?: string
  /** Such as `webhook 1`. */
  readonly thing: string | ((...words: readonly string[]) => string)
  /** Throws if the options are not complete, before a database is opened. */
  readonly check?: (options: Options) => unknown
  /** Returns the value that `--json` prints. */
  readonly call: (invocation: Invocation<Options>, ...words: string[]) => Promise<Value>
  /** What the thing is after the call. Without a value, `--json` prints it with the arguments. */
  readonly done?: string
  /** The value for people. Without a text, the call prints. */
  readonly text?: (value: Value, ...words: string[]) => string
  /** A text that needs more of the API, such as the names of agents. */
  readonly longText?: (value: Value, invocation: Invocation<Options>) => Promise<string>
  /** Says why the command failed although it has printed a value. */
  readonly problem?: (value: Value) => string | undefined
}

/** Adds a command that works over HTTP on a server, or on the database. */
export function addApiCommand<Value, Options>(
  parent: Command,
  syntax: string,
  { about, examples, notes, isOfOperator, ...action }: ApiCommand<Value, Options>,
): Command {
  const { verb, thing, check, call, done, text, longText, problem } = action
  const command = addCommand(parent, syntax, about, examples, notes)
  async function run(options: BackendOptions & Options, words: string[]) {
    check?.(options)
    const named = typeof thing === 'string' ? thing : thing(...words)
    const failure = `cannot ${verb ?? command.name()} ${named}`
    await onBackend(options, isOfOperator, async (backend) => {
      const invocation = { ...backend, options }
      const value = await orRefusal(call(invocation, ...words), failure)
      if (done !== undefined) {
        const given = command.registeredArguments.map((argument, at) => [
          argument.name(),
          words[at],
        ])
        const ended = { ...Object.fromEntries(given), [done]: true }
        print(options.json, value ?? ended, `${titled(done)} ${named}.`)
      }
      if (text) print(options.json, value, text(value, ...words))
      if (longText) {
        const shown = options.json ? '' : await orRefusal(longText(value, invocation), failure)
        print(options.json, value, shown)
      }
      const wrong = problem?.(value)
      if (wrong !== undefined) throw new OperatorError(wrong)
    })
  }
  if (isOfOperator) withServer(command, 'operator key of the server')
  else withBackend(command)
  return command.action((...given: unknown[]) =>
    run(given.at(-2) as BackendOptions & Options, given.slice(0, -2) as string[]),
  )
}

const titled = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
