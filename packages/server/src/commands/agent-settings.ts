import type { AgentSettings, JsonObject } from '@org/agent-messaging-core'
import type { DefaultExecutionPrincipal } from '@org/agent-messaging-core/runtime'
import { Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { agentsOption, jsonFile, wholeNumber } from './options.js'

export type RuntimeOptions = {
  readonly handler?: string
  readonly program?: string
  readonly url?: string
  readonly openai?: string
  readonly model?: string
  readonly acp?: string
  readonly a2a?: string
  readonly runtime?: JsonObject
  readonly agents?: string
}
export type SettingOptions = {
  readonly principal?: DefaultExecutionPrincipal['type']
  readonly concurrency?: number
  readonly maxAttempts?: number
  readonly maxQueued?: number
  readonly onBusy?: AgentSettings['onBusy']
}

const KINDS = ['handler', 'program', 'url', 'openai', 'acp', 'a2a', 'runtime'] as const
const othersThan = (kind: (typeof KINDS)[number]): string[] =>
  KINDS.filter((other) => other !== kind)

/** What runs an agent: one of these, with what belongs to it. */
export const withRuntime = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--handler <name>',
        'a function of this server: echo, or one of --agents',
      ).conflicts(othersThan('handler')),
    )
    .addOption(
      new Option('--program <name>', 'a child process: a program of --agents').conflicts(
        othersThan('program'),
      ),
    )
    .addOption(
      new Option('--url <url>', 'a service over HTTP, where it takes its messages').conflicts(
        othersThan('url'),
      ),
    )
    .addOption(
      new Option(
        '--openai <baseUrl>',
        'a model behind an OpenAI-compatible API; needs --model',
      ).conflicts(othersThan('openai')),
    )
    .option('--model <name>', 'the model of --openai')
    .addOption(
      new Option(
        '--acp <name>',
        'a program of --agents that speaks the Agent Client Protocol',
      ).conflicts(othersThan('acp')),
    )
    .addOption(
      new Option('--a2a <url>', 'an agent of the A2A protocol, by the URL of its card').conflicts(
        othersThan('a2a'),
      ),
    )
    .addOption(
      new Option(
        '--runtime <file>',
        'its kind and all options as the HTTP API takes them: a JSON file, - for stdin',
      )
        .argParser(jsonFile)
        .conflicts(othersThan('runtime')),
    )
    .addOption(agentsOption())

export const withSettings = (command: Command): Command =>
  command
    .addOption(
      new Option('--principal <type>', 'on whose behalf it runs by default').choices([
        'service',
        'end_user',
      ]),
    )
    .option('--concurrency <number>', 'runs at once in each process', wholeNumber(0))
    .option('--max-attempts <number>', 'runs of one message at most', wholeNumber(0))
    .option(
      '--max-queued <number>',
      'messages of its session that a new one may have ahead of it',
      wholeNumber(0),
    )
    .addOption(
      new Option(
        '--on-busy <what>',
        '--max-queued in a word: reject is 0, queue is anything above',
      ).choices(['queue', 'reject']),
    )

/** The runtime that is given, or undefined when none is. */
export function runtimeOf({
  handler,
  program,
  url,
  openai,
  model,
  acp,
  a2a,
  runtime,
}: RuntimeOptions): AgentSettings['runtime'] | undefined {
  if (model !== undefined && openai === undefined)
    throw new OperatorError('--model is of an agent with --openai', 2)
  if (handler !== undefined) return { kind: 'function', handler }
  if (program !== undefined) return { kind: 'process', program }
  if (url !== undefined) return { kind: 'http', url }
  if (openai !== undefined)
    return { kind: 'openai', baseUrl: openai, ...(model !== undefined && { model }) }
  if (acp !== undefined) return { kind: 'acp', program: acp }
  if (a2a !== undefined) return { kind: 'a2a', url: a2a }
  return runtime && withKind(runtime)
}

function withKind({ kind, ...options }: JsonObject): AgentSettings['runtime'] {
  if (typeof kind === 'string') return { kind, ...options }
  throw new OperatorError('--runtime needs a "kind", such as {"kind":"http","url":"https://…"}', 2)
}

/** Those that are given. */
export const settingsOf = ({
  principal,
  concurrency,
  maxAttempts,
  maxQueued,
  onBusy,
}: SettingOptions) => ({
  ...{ concurrency, maxAttempts, maxQueued, onBusy },
  ...(principal && { defaultExecutionPrincipal: { type: principal } }),
})
