import type { MessagingService } from '@org/agent-messaging-core'
import type { Command } from 'commander'
import { allPages } from '../all-pages.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { projectBody } from './bodies.js'
import { example, jsonOption } from './options.js'
import { print, table } from './output.js'

export function addProjects(program: Command): void {
  const projects = program
    .command('projects')
    .description('create and list projects: each has its own agents, webhooks and API keys')

  projects
    .command('create <name>')
    .description('create a project')
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging projects create support'))
    .action((name: string, { json }: { json?: true }) =>
      onDatabase(async (service) => {
        const same = (await allProjects(service)).find((project) => project.name === name)
        if (same)
          throw new OperatorError(
            `there is a project ${JSON.stringify(name)} already, with the id ${same.id}; give another name`,
          )
        const project = await orFail(
          service.projects.create({ name }),
          'the project cannot be created',
        )
        print(
          json,
          projectBody(project),
          `Created the project ${project.name} with the id ${project.id}.`,
        )
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
        print(json, bodies, table(bodies, 'There is no project yet.'))
      }),
    )
}

const allProjects = (service: MessagingService) =>
  allPages((page) => service.projects.list(page), 'the projects cannot be listed')
