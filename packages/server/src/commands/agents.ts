import type {
  Agent,
  AgentChanges,
  AgentSettings,
  CreatedAgent,
  MessagingService,
} from '@org/agent-messaging-core'
import { agentBody, createdAgentBody } from '@org/agent-messaging-http'
import type { Command } from 'commander'
import { allPages } from '../all-pages.js'
import { projectNamed } from '../find.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import {
  runtimeOf,
  settingsOf,
  withRuntime,
  withSettings,
  type RuntimeOptions,
  type SettingOptions,
} from './agent-settings.js'
import { example, jsonOption, projectOption, type ProjectOptions } from './options.js'
import { fieldTable, print, table } from './output.js'

type CreateOptions = ProjectOptions & RuntimeOptions & SettingOptions & { readonly start?: true }
type UpdateOptions = ProjectOptions & RuntimeOptions & SettingOptions & { readonly name?: string }

export function addAgents(program: Command): void {
  const agents = program
    .command('agents')
    .description('create, list, show, change, start, stop and delete agents')

  withSettings(withRuntime(agents.command('create <name>')))
    .description(
      'create an agent; one of --handler, --program, --url, --openai, --acp, --a2a and --runtime says what runs it',
    )
    .option('--start', 'ask for it to run too')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging agents create support --url https://agents.example.com/support --start',
        'agent-messaging agents create helper --openai http://127.0.0.1:11434/v1 --model llama3.2 --start',
        'agent-messaging agents create coder --acp gemini --agents ./my-agents.mjs',
        `echo '{"kind":"openai","baseUrl":"…","model":"…","apiKey":"…"}' | agent-messaging agents create helper --runtime -`,
      ),
    )
    .action((name: string, options: CreateOptions) => {
      const runtime = runtimeOf(options)
      if (!runtime)
        throw new OperatorError(
          'an agent needs one of --handler, --program, --url, --openai, --acp, --a2a and --runtime',
          2,
        )
      return onDatabase((service) => createAgent(service, name, runtime, options), options.agents)
    })

  agents
    .command('list')
    .description('list the agents of a project, newest first')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging agents list'))
    .action(({ project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id } = await projectNamed(service, project)
        const found = await allPages(
          (page) => service.agents.list(id, page),
          'the agents cannot be listed',
        )
        print(json, found.map(agentBody), table(found.map(agentRow), 'There is no agent yet.'))
      }),
    )

  agents
    .command('show <agent>')
    .description('show an agent with all its settings, and what is the matter with it')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging agents show support',
        'agent-messaging agents show support --json | jq .lastError',
      ),
    )
    .action((name: string, options: ProjectOptions) =>
      onDatabase((service) => showAgent(service, name, options)),
    )

  withSettings(withRuntime(agents.command('update <agent>')))
    .description(
      'change what is given of an agent; the rest stays as it is. What runs it can only be changed while it is stopped',
    )
    .option('--name <name>', 'what it is called from now on')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging agents update support --concurrency 8 --max-queued 20',
        'agent-messaging agents stop support && agent-messaging agents update support --url https://agents.example.com/v2',
      ),
    )
    .action((agent: string, options: UpdateOptions) => {
      const change = changeOf(options)
      return onDatabase((service) => updateAgent(service, agent, change, options), options.agents)
    })

  addSwitch(agents, 'start', 'ask for the agent to run, from now on')
  addSwitch(
    agents,
    'stop',
    'ask for the agent to stop; what it runs may finish, queued messages wait',
  )

  agents
    .command('delete <agent>')
    .description('delete an agent with its sessions and messages')
    .option('--force', 'even if messages are open: they stay unanswered')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging agents delete support'))
    .action((agent: string, { project, force, json }: ProjectOptions & { force?: true }) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        await orFail(
          service.agents.delete({ projectId, agent, force }),
          `the agent ${agent} cannot be deleted`,
        )
        print(json, { agent, deleted: true }, `Deleted the agent ${agent}.`)
      }),
    )
}

function addSwitch(agents: Command, verb: 'start' | 'stop', description: string): void {
  agents
    .command(`${verb} <agent>`)
    .description(description)
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example(`agent-messaging agents ${verb} support`))
    .action((name: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const agent = await orFail(
          service.agents[verb]({ projectId, agent: name }),
          `the agent ${name} cannot be asked to ${verb}`,
        )
        print(
          json,
          agentBody(agent),
          `Asked the agent ${agent.name}, which is ${agent.state.kind}, to ${verb}. A server on this database sees to it within a second.`,
        )
      }),
    )
}

async function createAgent(
  service: MessagingService,
  name: string,
  runtime: AgentSettings['runtime'],
  options: CreateOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, options.project)
  const created = await orFail(
    service.agents.create({
      ...{ projectId, name, runtime, ...settingsOf(options) },
      desiredState: options.start ? 'running' : 'stopped',
    }),
    `the agent ${name} cannot be created`,
  )
  print(
    options.json,
    createdAgentBody(created),
    `Created the agent ${name} with the id ${created.agent.id}.${secretIn(created)}`,
  )
}

const secretIn = ({ signingSecret }: CreatedAgent): string =>
  signingSecret === undefined
    ? ''
    : `\nIts requests are signed with ${signingSecret}\nKeep that now: it is not shown again.`

async function showAgent(
  service: MessagingService,
  name: string,
  { project, json }: ProjectOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const body = agentBody(
    await orFail(
      service.agents.get({ projectId, agent: name }),
      `the agent ${name} cannot be shown`,
    ),
  )
  print(json, body, fieldTable(body))
}

function changeOf(options: UpdateOptions): AgentChanges {
  const change = { name: options.name, runtime: runtimeOf(options), ...settingsOf(options) }
  if (Object.values(change).some((value) => value !== undefined)) return change
  throw new OperatorError('there is nothing to change: --help tells what can be', 2)
}

async function updateAgent(
  service: MessagingService,
  name: string,
  change: AgentChanges,
  { project, json }: UpdateOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const updated = await orFail(
    service.agents.update({ projectId, agent: name, change }),
    `the agent ${name} cannot be changed`,
  )
  print(
    json,
    createdAgentBody(updated),
    `Changed the agent ${updated.agent.name}.${secretIn(updated)}`,
  )
}

const agentRow = ({ id, name, runtime, desiredState, state }: Agent) => ({
  ...{ name, state: state.kind === 'error' ? `error: ${state.lastError.message}` : state.kind },
  ...{ wanted: desiredState, runtime: runtime.kind, id },
})
