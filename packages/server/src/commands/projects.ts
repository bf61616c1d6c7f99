import type { MessagingService, Project, SendLimits } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { allPages } from '@org/agent-messaging-node/wiring'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { example, jsonOption } from './options.js'
import { print, table } from './output.js'

export function addProjects(program: Command): void {
  const projects = program
    .command('projects')
    .description('manage projects, which separate agents, webhooks and API keys')

  projects
    .command('create <name>')
    .description('create a project')
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging projects create support'))
    .action((name: string, { json }: { json?: true }) =>
      onDatabase(async (service) => {
        const existing = (await allProjects(service)).find((project) => project.name === name)
        if (existing)
          throw new OperatorError(
            `project ${JSON.stringify(name)} already exists (id ${existing.id}); choose another name`,
          )
        const project = await orFail(service.projects.create({ name }), 'cannot create the project')
        print(json, projectBody(project), `Created project ${project.name} (id ${project.id}).`)
      }),
    )

  projects
    .command('limit <id>')
    .description('set the limits of a project; without options, remove them')
    .option('--project-per-minute <n>', 'messages of the project per minute', Number)
    .option('--key-per-minute <n>', 'messages of each API key per minute', Number)
    .option('--burst <n>', 'size of the token buckets (default: the messages per minute)', Number)
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging projects limit <id> --project-per-minute 600'))
    .action((id: string, { json, ...limits }: LimitOptions) =>
      onDatabase(async (service) => {
        const changing = service.projects.update(id, { sendLimits: limitsOf(limits) })
        const project = await orFail(changing, 'cannot change the project')
        print(json, projectBody(project), `Changed the limits of project ${project.name}.`)
      }),
    )

  projects
    .command('list')
    .description('list the projects, oldest first')
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging projects list --json'))
    .action(({ json }: { json?: true }) =>
      onDatabase(async (service) => {
        const all = await allProjects(service)
        const rows = all.map(({ id, name, createdAt }) => ({
          id,
          name,
          createdAt: toIso(createdAt),
        }))
        print(json, all.map(projectBody), table(rows, 'No projects.'))
      }),
    )
}

type LimitOptions = {
  readonly json?: true
  readonly projectPerMinute?: number
  readonly keyPerMinute?: number
  readonly burst?: number
}

function limitsOf({ projectPerMinute, keyPerMinute, burst }: LimitOptions): SendLimits {
  const limit = (messagesPerMinute: number | undefined) =>
    messagesPerMinute === undefined
      ? undefined
      : { messagesPerMinute, burst: burst ?? messagesPerMinute }
  return { project: limit(projectPerMinute), key: limit(keyPerMinute) }
}

const allProjects = (service: MessagingService) =>
  allPages((page) => service.projects.list(page), 'cannot list the projects')

const projectBody = ({ id, name, sendLimits, createdAt }: Project) => ({
  id,
  name,
  ...(sendLimits && { sendLimits }),
  createdAt: toIso(createdAt),
})
