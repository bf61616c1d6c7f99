import type { Agent, AgentSettings, DefaultExecutionPrincipal, JsonObject, MessagingService } from '@org/agent-messaging-core'
import { agentBody, createdAgentBody } from '@org/agent-messaging-http'
import { Option, type Command } from 'commander'
import { allPages } from '../all-pages.js'
import { projectNamed } from '../find.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { agentsOption, example, jsonFile, jsonOption, projectOption, wholeNumber } from './options.js'
import { print, table } from './output.js'

type Common = { readonly project: string; readonly json?: true }
type CreateOptions = Common & {
  readonly handler?: string
  readonly program?: string
  readonly url?: string
  readonly openai?: string
  readonly model?: string
  readonly acp?: string
  readonly a2a?: string
  readonly runtime?: JsonObject
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
    .description('create an agent; one of --handler, --program, --url, --openai, --acp, --a2a and --runtime says what runs it')
    .addOption(new Option('--handler <name>', 'a function of this server: echo, or one of --agents').conflicts(othersThan('handler')))
    .addOption(new Option('--program <name>', 'a child process: a program of --agents').conflicts(othersThan('program')))
    .addOption(new Option('--url <url>', 'a service over HTTP, where it takes its messages').conflicts(othersThan('url')))
    .addOption(new Option('--openai <baseUrl>', 'a model behind an OpenAI-compatible API; needs --model').conflicts(othersThan('openai')))
    .option('--model <name>', 'the model of --openai')
    .addOption(new Option('--acp <name>', 'a program of --agents that speaks the Agent Client Protocol').conflicts(othersThan('acp')))
    .addOption(new Option('--a2a <url>', 'an agent of the A2A protocol, by the URL of its card').conflicts(othersThan('a2a')))
    .addOption(
      new Option('--runtime <file>', 'its kind and all options as the HTTP API takes them: a JSON file, - for stdin')
        .argParser(jsonFile)
        .conflicts(othersThan('runtime')),
    )
    .addOption(agentsOption())
    .addOption(new Option('--principal <type>', 'on whose behalf it runs by default').choices(['service', 'end_user']).default('service'))
    .option('--concurrency <number>', 'runs at once in each process', wholeNumber)
    .option('--max-attempts <number>', 'runs of one message at most', wholeNumber)
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

const KINDS = ['handler', 'program', 'url', 'openai', 'acp', 'a2a', 'runtime'] as const
const othersThan = (kind: (typeof KINDS)[number]): string[] => KINDS.filter((other) => other !== kind)

function runtimeOf({ handler, program, url, openai, model, acp, a2a, runtime }: CreateOptions): AgentSettings['runtime'] {
  if (model !== undefined && openai === undefined) throw new OperatorError('--model is of an agent with --openai', 2)
  if (handler !== undefined) return { kind: 'function', handler }
  if (program !== undefined) return { kind: 'process', program }
  if (url !== undefined) return { kind: 'http', url }
  if (openai !== undefined) return { kind: 'openai', baseUrl: openai, ...(model !== undefined && { model }) }
  if (acp !== undefined) return { kind: 'acp', program: acp }
  if (a2a !== undefined) return { kind: 'a2a', url: a2a }
  if (runtime !== undefined) return withKind(runtime)
  throw new OperatorError('an agent needs one of --handler, --program, --url, --openai, --acp, --a2a and --runtime', 2)
}

function withKind({ kind, ...options }: JsonObject): AgentSettings['runtime'] {
  if (typeof kind === 'string') return { kind, ...options }
  throw new OperatorError('--runtime needs a "kind", such as {"kind":"http","url":"https://…"}', 2)
}

async function createAgent(
  service: MessagingService,
  name: string,
  runtime: AgentSettings['runtime'],
  options: CreateOptions,
): Promise<void> {
  const { concurrency, maxAttempts, json } = options
  const { id: projectId } = await projectNamed(service, options.project)
  const created = await orFail(
    service.agents.create({
      ...{ projectId, name, runtime, concurrency, maxAttempts },
      defaultExecutionPrincipal: { type: options.principal },
      desiredState: options.start ? 'running' : 'stopped',
    }),
    `the agent ${name} cannot be created`,
  )
  const { agent, signingSecret } = created
  const secret = signingSecret === undefined ? '' : `\nIts requests are signed with ${signingSecret}\nKeep that now: it is not shown again.`
  print(json, createdAgentBody(created), `Created the agent ${name} with the id ${agent.id}.${secret}`)
}

const agentRow = ({ id, name, runtime, desiredState, state }: Agent) => ({
  ...{ name, state: state.kind === 'error' ? `error: ${state.lastError.message}` : state.kind },
  ...{ wanted: desiredState, runtime: runtime.kind, id },
})
