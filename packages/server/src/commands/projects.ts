import type { MessagingService, Project } from '@org/agent-messaging-core'
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
    .command('list')
    .description('list the projects, oldest first')
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging projects list --json'))
    .action(({ json }: { json?: true }) =>
      onDatabase(async (service) => {
        const bodies = (await allProjects(service)).map(projectBody)
        print(json, bodies, table(bodies, 'No projects.'))
      }),
    )
}

const allProjects = (service: MessagingService) =>
  allPages((page) => service.projects.list(page), 'cannot list the projects')

const projectBody = ({ id, name, createdAt }: Project) => ({
  id,
  name,
  createdAt: toIso(createdAt),
})
