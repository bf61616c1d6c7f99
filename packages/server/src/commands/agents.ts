import type { Agent, AgentSettings, DefaultExecutionPrincipal, MessagingService } from '@org/agent-messaging-core'
import { Option, type Command } from 'commander'
import { allPages } from '../all-pages.js'
import { projectNamed } from '../find.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { agentBody } from './bodies.js'
import { agentsOption, example, jsonOption, projectOption, wholeNumber } from './options.js'
import { print, table } from './output.js'

type Common = { readonly project: string; readonly json?: true }
type CreateOptions = Common & {
  readonly handler?: string
  readonly program?: string
  readonly url?: string
  readonly agents?: string
  readonly principal: DefaultExecutionPrincipal['type']
  readonly concurrency?: number
  readonly maxAttempts?: number
  readonly start?: true
}

export function addAgents(program: Command): void {
  const agents = program.command('agents').description('create, list, start, stop and delete agents')

  agents
    .command('create <name>')
    .description('create an agent: a function of this server (--handler), a child process (--program) or one behind HTTP (--url)')
    .addOption(new Option('--handler <name>', 'a function: echo, or one of --agents').conflicts('url'))
    .addOption(new Option('--program <name>', 'a program of --agents').conflicts(['handler', 'url']))
    .option('--url <url>', 'where the agent takes its messages')
    .addOption(agentsOption())
    .addOption(new Option('--principal <type>', 'on whose behalf it runs by default').choices(['service', 'end_user']).default('service'))
    .option('--concurrency <number>', 'runs at once in each process', wholeNumber)
    .option('--max-attempts <number>', 'runs of one message at most', wholeNumber)
    .option('--start', 'ask for it to run too')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging agents create support --url https://agents.example.com/support --start'))
    .action((name: string, options: CreateOptions) => {
      const runtime = runtimeOf(options)
      return onDatabase((service) => createAgent(service, name, runtime, options), options.agents)
    })

  agents
    .command('list')
    .description('list the agents of a project, newest first')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging agents list'))
    .action(({ project, json }: Common) =>
      onDatabase(async (service) => {
        const { id } = await projectNamed(service, project)
        const found = await allPages((page) => service.agents.list(id, page), 'the agents cannot be listed')
        print(json, found.map(agentBody), table(found.map(agentRow), 'There is no agent yet.'))
      }),
    )

  addSwitch(agents, 'start', 'ask for the agent to run, from now on')
  addSwitch(agents, 'stop', 'ask for the agent to stop; what it runs may finish, queued messages wait')

  agents
    .command('delete <agent>')
    .description('delete an agent with its sessions and messages')
    .option('--force', 'even if messages are open: they stay unanswered')
    .addOption(projectOption())
    .addHelpText('after', example('agent-messaging agents delete support'))
    .action((agent: string, { project, force }: Common & { force?: true }) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        await orFail(service.agents.delete({ projectId, agent, force }), `the agent ${agent} cannot be deleted`)
        console.log(`Deleted the agent ${agent}.`)
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
    .action((name: string, { project, json }: Common) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const agent = await orFail(service.agents[verb]({ projectId, agent: name }), `the agent ${name} cannot be asked to ${verb}`)
        print(
          json,
          agentBody(agent),
          `Asked the agent ${agent.name}, which is ${agent.state.kind}, to ${verb}. A server on this database sees to it within a second.`,
        )
      }),
    )
}

function runtimeOf({ handler, program, url }: CreateOptions): AgentSettings['runtime'] {
  if (handler !== undefined) return { kind: 'function', handler }
  if (program !== undefined) return { kind: 'process', program }
  if (url !== undefined) return { kind: 'http', url }
  throw new OperatorError('an agent needs --handler, --program or --url', 2)
}

async function createAgent(
  service: MessagingService,
  name: string,
  runtime: AgentSettings['runtime'],
  options: CreateOptions,
): Promise<void> {
  const { concurrency, maxAttempts, json } = options
  const { id: projectId } = await projectNamed(service, options.project)
  const { agent, signingSecret } = await orFail(
    service.agents.create({
      ...{ projectId, name, runtime, concurrency, maxAttempts },
      defaultExecutionPrincipal: { type: options.principal },
      desiredState: options.start ? 'running' : 'stopped',
    }),
    `the agent ${name} cannot be created`,
  )
  const secret = signingSecret === undefined ? '' : `\nIts requests are signed with ${signingSecret}\nKeep that now: it is not shown again.`
  print(
    json,
    { ...agentBody(agent), ...(signingSecret !== undefined && { signingSecret }) },
    `Created the agent ${name} with the id ${agent.id}.${secret}`,
  )
}

const agentRow = ({ id, name, runtime, desiredState, state }: Agent) => ({
  ...{ name, state: state.kind === 'error' ? `error: ${state.lastError.message}` : state.kind },
  ...{ wanted: desiredState, runtime: runtime.kind, id },
})
