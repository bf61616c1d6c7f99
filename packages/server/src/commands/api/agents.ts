import type { Agent, CreatedAgent } from '@org/agent-messaging-client'
import type { JsonObject } from '@org/agent-messaging-core'
import { given } from '@org/agent-messaging-core/runtime'
import { agentSettings } from '@org/agent-messaging-core/host'
import type { DefaultExecutionPrincipal } from '@org/agent-messaging-core/storage'
import { type Command, Option } from 'commander'
import { OperatorError } from '../../operator-error.js'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { agentsOption, jsonFile } from '../options.js'
import { fieldTable, table } from '../output.js'
import { settingOptions } from './setting-options.js'

type CreateOptions = RuntimeOptions & SettingOptions & { readonly stopped?: true }
type UpdateOptions = RuntimeOptions & SettingOptions & { readonly name?: string }
export type ForceOptions = { readonly force?: true }

export function addAgents(program: Command) {
  const agents = program.command('agents').description('manage agents')
  const create = addApiCommand(agents, 'create <name>', {
    about: `create an agent and start it (requires ${RUNTIME_FLAGS})`,
    examples: [
      'agent-messaging agents create support --url https://agents.example.com/support',
      'agent-messaging agents create helper --openai http://127.0.0.1:11434/v1 --model llama3.2',
      'agent-messaging agents create coder --acp gemini --agents ./my-agents.mjs',
      `echo '{"kind":"openai","baseUrl":"…","model":"…","apiKey":"…"}' | agent-messaging agents create helper --runtime -`,
    ],
    thing: agent,
    check: requiredRuntime,
    call: ({ client, options }: Invocation<CreateOptions>, name) =>
      client.agents.create({
        name,
        runtime: requiredRuntime(options),
        ...given(settingsOf(options)),
        desiredState: options.stopped ? 'stopped' : 'running',
      }),
    text: (created, name) => `Created agent ${name} (id ${created.id}).${secretIn(created)}`,
  })
  withSettings(withRuntime(create)).option('--stopped', 'do not start the agent')
  addApiCommand(agents, 'list', {
    about: 'list the agents of a project, newest first',
    thing: 'the agents',
    call: ({ client }) => firstOf(client.agents.list()),
    text: (found) => table(found.map(row), 'No agents.'),
  })
  addApiCommand(agents, 'show <agent>', {
    about: 'show the settings, the state and the last error of an agent',
    examples: [
      'agent-messaging agents show support',
      'agent-messaging agents show support --json | jq .lastError',
    ],
    thing: agent,
    call: ({ client }, name) => client.agents.get(name),
    text: fieldTable,
  })
  const update = addApiCommand(agents, 'update <agent>', {
    about: 'change the given settings of an agent (only a stopped agent can change its runtime)',
    examples: [
      'agent-messaging agents update support --concurrency 8 --max-queued 20',
      'agent-messaging agents stop support && agent-messaging agents update support --url https://agents.example.com/v2',
    ],
    thing: agent,
    check: changeOf,
    call: ({ client, options }, name) => client.agents.update(name, changeOf(options)),
    text: (updated) => `Updated agent ${updated.name}.${secretIn(updated)}`,
  })
  withSettings(withRuntime(update)).option('--name <name>', 'new name')
  addApiCommand(agents, 'start <agent>', {
    about: 'start an agent',
    thing: agent,
    call: ({ client }, name) => client.agents.start(name),
    text: requestedTo('start'),
  })
  addApiCommand(agents, 'stop <agent>', {
    about: 'stop an agent after its current runs; queued messages wait',
    thing: agent,
    call: ({ client }, name) => client.agents.stop(name),
    text: requestedTo('stop'),
  })
  addApiCommand(agents, 'delete <agent>', {
    about: 'delete an agent with its sessions and messages',
    thing: agent,
    call: ({ client, options: { force } }: Invocation<ForceOptions>, name) =>
      client.agents.delete(name, { force }),
    done: 'deleted',
  }).option('--force', 'delete the agent even if messages are unanswered')
}

export const agent = (name: string) => `agent ${name}`

function requiredRuntime(options: CreateOptions) {
  const runtime = runtimeOf(options)
  if (runtime) return runtime
  throw new OperatorError(`an agent requires ${RUNTIME_FLAGS}`, 2)
}

function changeOf(options: UpdateOptions) {
  const { name } = options
  const change = given({ name, runtime: runtimeOf(options), ...settingsOf(options) })
  if (Object.keys(change).length > 0) return change
  throw new OperatorError('nothing to update; run with --help to list the settings', 2)
}

const requestedTo =
  (verb: string) =>
  ({ name, state }: Agent) =>
    `Requested to ${verb} agent ${name} (state: ${state}). A running server applies this within a second.`

const secretIn = ({ signingSecret }: CreatedAgent) =>
  signingSecret === undefined
    ? ''
    : `\nThe server signs its requests to the agent with this secret:\n\n${signingSecret}\n\nStore the secret now. The server does not show it again.`

const row = ({ id, name, runtime, desiredState, state, lastError }: Agent) => ({
  name,
  state: state === 'error' ? `error: ${lastError?.message}` : state,
  desired: desiredState,
  runtime: runtime.kind,
  id,
})

type RuntimeOptions = {
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
type SettingOptions = { readonly principal?: DefaultExecutionPrincipal['type'] }

const RUNTIME_FLAGS = '--handler, --program, --url, --openai, --acp, --a2a or --runtime'

/** Adds the options that select the runtime of an agent, of which a command can have one. */
function withRuntime(command: Command): Command {
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

const withSettings = (command: Command) =>
  settings
    .addTo(command)
    .addOption(
      new Option('--principal <type>', 'default execution principal').choices([
        'service',
        'end_user',
      ]),
    )

/** The selected runtime, or undefined. */
function runtimeOf({ handler, program, url, openai, model, acp, a2a, runtime }: RuntimeOptions) {
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

function withKind({ kind, ...options }: JsonObject) {
  if (typeof kind === 'string') return { kind, ...options }
  throw new OperatorError(
    '--runtime must contain a "kind", such as {"kind":"http","url":"https://…"}',
    2,
  )
}

/** The given settings. Settings that were not given are undefined. */
const settingsOf = ({ principal: type, ...options }: SettingOptions) => ({
  ...settings.read(options),
  ...(type && { defaultExecutionPrincipal: { type } }),
})
