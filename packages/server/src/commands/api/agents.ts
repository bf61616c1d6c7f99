import type { Agent, AgentChange, CreatedAgent } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { OperatorError } from '../../operator-error.js'
import {
  RUNTIME_FLAGS,
  runtimeOf,
  settingsOf,
  withRuntime,
  withSettings,
  type RuntimeOptions,
  type SettingOptions,
} from './agent-settings.js'
import { firstOf, type Backend } from '../backend.js'
import { addApiCommand } from '../command.js'
import type { BackendOptions } from '../options.js'
import { fieldTable, table } from '../output.js'

type CreateOptions = BackendOptions & RuntimeOptions & SettingOptions & { readonly stopped?: true }
type UpdateOptions = BackendOptions & RuntimeOptions & SettingOptions & { readonly name?: string }
export type ForceOptions = BackendOptions & { readonly force?: true }

export function addAgents(program: Command): void {
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
    call: ({ client, options }: Backend & { options: CreateOptions }, name) =>
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
    call: async ({ client, options: { force } }: Backend & { options: ForceOptions }, name) => {
      await client.agents.delete(name, { force })
      return { agent: name, deleted: true }
    },
    text: (_, name) => `Deleted agent ${name}.`,
  }).option('--force', 'delete the agent even if messages are unanswered')
}

export const agent = (name: string): string => `agent ${name}`

function requiredRuntime(options: CreateOptions) {
  const runtime = runtimeOf(options)
  if (runtime) return runtime
  throw new OperatorError(`an agent requires ${RUNTIME_FLAGS}`, 2)
}

function changeOf(options: UpdateOptions): AgentChange {
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
