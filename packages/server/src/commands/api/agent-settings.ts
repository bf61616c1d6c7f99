import type { AgentChange } from '@org/agent-messaging-client'
import type { AgentSettings, JsonObject } from '@org/agent-messaging-core'
import { agentSettings, type DefaultExecutionPrincipal } from '@org/agent-messaging-core/runtime'
import { Option, type Command } from 'commander'
import { OperatorError } from '../../operator-error.js'
import { agentsOption, jsonFile } from '../options.js'
import { settingOptions } from './setting-options.js'

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
export type SettingOptions = { readonly principal?: DefaultExecutionPrincipal['type'] }

export const RUNTIME_FLAGS = '--handler, --program, --url, --openai, --acp, --a2a or --runtime'

/** Adds the options that select the runtime of an agent, of which a command can have one. */
export function withRuntime(command: Command): Command {
  const options = [
    new Option('--handler <name>', 'run a function of the server: echo, or one from --agents'),
    new Option('--program <name>', 'run a child process from --agents'),
    new Option('--url <url>', 'call an HTTP service that accepts messages at this URL'),
    new Option('--openai <baseUrl>', 'call an OpenAI-compatible API (requires --model)'),
    new Option('--acp <name>', 'run a program from --agents with the Agent Client Protocol'),
    new Option('--a2a <url>', 'call an A2A agent, by the URL of its card'),
    new Option(
      '--runtime <file>',
      'runtime kind and options in the format of the HTTP API: JSON file, - for stdin',
    ).argParser(jsonFile),
  ]
  const names = options.map((option) => option.attributeName())
  for (const option of options)
    command.addOption(option.conflicts(names.filter((name) => name !== option.attributeName())))
  return command.option('--model <name>', 'model for --openai').addOption(agentsOption())
}

const settings = settingOptions(agentSettings, {
  a2a: {
    flags: '--card <file>',
    example: '{"enabled":true}: JSON file, - for stdin',
    parse: jsonFile,
  },
})

export const withSettings = (command: Command): Command =>
  settings
    .addTo(command)
    .addOption(
      new Option('--principal <type>', 'default execution principal').choices([
        'service',
        'end_user',
      ]),
    )

/** The selected runtime, or undefined. */
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
    throw new OperatorError('--model requires --openai', 2)
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
  throw new OperatorError(
    '--runtime must contain a "kind", such as {"kind":"http","url":"https://…"}',
    2,
  )
}

/** The given settings. Settings that were not given are undefined. */
export const settingsOf = ({ principal: type, ...options }: SettingOptions): AgentChange => ({
  ...settings.read(options),
  ...(type && { defaultExecutionPrincipal: { type } }),
})
