import type {
  Agent,
  AgentChanges,
  AgentSettings,
  CreatedAgent,
  MessagingService,
} from '@org/agent-messaging-core'
import { agentBody, createdAgentBody } from '@org/agent-messaging-http'
import type { Command } from 'commander'
import { allPages } from '@org/agent-messaging-node/wiring'
import { OperatorError, orFail } from '../operator-error.js'
import { onProject } from './admin.js'
import {
  RUNTIME_FLAGS,
  runtimeOf,
  settingsOf,
  withRuntime,
  withSettings,
  type RuntimeOptions,
  type SettingOptions,
} from './agent-settings.js'
import { example, withProject, type ProjectOptions } from './options.js'
import { fieldTable, print, table } from './output.js'

type CreateOptions = ProjectOptions & RuntimeOptions & SettingOptions & { readonly stopped?: true }
type UpdateOptions = ProjectOptions & RuntimeOptions & SettingOptions & { readonly name?: string }

export function addAgents(program: Command): void {
  const agents = program.command('agents').description('manage agents')
  addCreate(agents)
  addList(agents)
  addShow(agents)
  addUpdate(agents)
  addSwitch(agents, 'start', 'start an agent')
  addSwitch(agents, 'stop', 'stop an agent after its current runs; queued messages wait')
  addDelete(agents)
}

function addCreate(agents: Command): void {
  const create = withSettings(withRuntime(agents.command('create <name>')))
  withProject(create.option('--stopped', 'do not start the agent'))
    .description(`create an agent and start it (requires ${RUNTIME_FLAGS})`)
    .addHelpText(
      'after',
      example(
        'agent-messaging agents create support --url https://agents.example.com/support',
        'agent-messaging agents create helper --openai http://127.0.0.1:11434/v1 --model llama3.2',
        'agent-messaging agents create coder --acp gemini --agents ./my-agents.mjs',
        `echo '{"kind":"openai","baseUrl":"…","model":"…","apiKey":"…"}' | agent-messaging agents create helper --runtime -`,
      ),
    )
    .action((name: string, options: CreateOptions) => {
      const runtime = runtimeOf(options)
      if (!runtime) throw new OperatorError(`an agent requires ${RUNTIME_FLAGS}`, 2)
      return onProject(
        options.project,
        (service, projectId) => createAgent(service, projectId, name, runtime, options),
        options.agents,
      )
    })
}

function addList(agents: Command): void {
  withProject(agents.command('list'))
    .description('list the agents of a project, newest first')
    .addHelpText('after', example('agent-messaging agents list'))
    .action(({ project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const found = await allPages(
          (page) => service.agents.list(projectId, page),
          'cannot list the agents',
        )
        print(json, found.map(agentBody), table(found.map(agentRow), 'No agents.'))
      }),
    )
}

function addShow(agents: Command): void {
  withProject(agents.command('show <agent>'))
    .description('show the settings, the state and the last error of an agent')
    .addHelpText(
      'after',
      example(
        'agent-messaging agents show support',
        'agent-messaging agents show support --json | jq .lastError',
      ),
    )
    .action((agent: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const found = service.agents.get({ projectId, agent })
        const body = agentBody(await orFail(found, `cannot show agent ${agent}`))
        print(json, body, fieldTable(body))
      }),
    )
}

function addUpdate(agents: Command): void {
  const update = withSettings(withRuntime(agents.command('update <agent>')))
  withProject(update.option('--name <name>', 'new name'))
    .description(
      'change the given settings of an agent (only a stopped agent can change its runtime)',
    )
    .addHelpText(
      'after',
      example(
        'agent-messaging agents update support --concurrency 8 --max-queued 20',
        'agent-messaging agents stop support && agent-messaging agents update support --url https://agents.example.com/v2',
      ),
    )
    .action((agent: string, options: UpdateOptions) => {
      const change = changeOf(options)
      return onProject(
        options.project,
        async (service, projectId) => {
          const updated = await orFail(
            service.agents.update({ projectId, agent, change }),
            `cannot update agent ${agent}`,
          )
          const text = `Updated agent ${updated.agent.name}.${secretIn(updated)}`
          print(options.json, createdAgentBody(updated), text)
        },
        options.agents,
      )
    })
}

function changeOf(options: UpdateOptions): AgentChanges {
  const change = { name: options.name, runtime: runtimeOf(options), ...settingsOf(options) }
  if (Object.values(change).some((value) => value !== undefined)) return change
  throw new OperatorError('nothing to update; run with --help to list the settings', 2)
}

function addSwitch(agents: Command, verb: 'start' | 'stop', description: string): void {
  withProject(agents.command(`${verb} <agent>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging agents ${verb} support`))
    .action((name: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const agent = await orFail(
          service.agents[verb]({ projectId, agent: name }),
          `cannot ${verb} agent ${name}`,
        )
        print(
          json,
          agentBody(agent),
          `Requested to ${verb} agent ${agent.name} (state: ${agent.state.kind}). A running server applies this within a second.`,
        )
      }),
    )
}

function addDelete(agents: Command): void {
  withProject(
    agents
      .command('delete <agent>')
      .description('delete an agent with its sessions and messages')
      .option('--force', 'delete the agent even if messages are unanswered'),
  )
    .addHelpText('after', example('agent-messaging agents delete support'))
    .action((agent: string, { project, force, json }: ProjectOptions & { force?: true }) =>
      onProject(project, async (service, projectId) => {
        await orFail(
          service.agents.delete({ projectId, agent, force }),
          `cannot delete agent ${agent}`,
        )
        print(json, { agent, deleted: true }, `Deleted agent ${agent}.`)
      }),
    )
}

async function createAgent(
  service: MessagingService,
  projectId: string,
  name: string,
  runtime: AgentSettings['runtime'],
  options: CreateOptions,
): Promise<void> {
  const created = await orFail(
    service.agents.create({
      projectId,
      name,
      runtime,
      ...settingsOf(options),
      desiredState: options.stopped ? 'stopped' : 'running',
    }),
    `cannot create agent ${name}`,
  )
  print(
    options.json,
    createdAgentBody(created),
    `Created agent ${name} (id ${created.agent.id}).${secretIn(created)}`,
  )
}

const secretIn = ({ signingSecret }: CreatedAgent): string =>
  signingSecret === undefined
    ? ''
    : `\nThe server signs its requests to the agent with this secret:\n\n${signingSecret}\n\nStore the secret now. The server does not show it again.`

const agentRow = ({ id, name, runtime, desiredState, state }: Agent) => ({
  name,
  state: state.kind === 'error' ? `error: ${state.lastError.message}` : state.kind,
  desired: desiredState,
  runtime: runtime.kind,
  id,
})
