import type { MessagingService, Project } from '@org/agent-messaging-core'
import { allPages } from './all-pages.js'
import { OperatorError } from './operator-error.js'

/** The project with this name or id. */
export async function projectNamed(service: MessagingService, nameOrId: string): Promise<Project> {
  const projects = await allPages(
    (page) => service.projects.list(page),
    'the projects cannot be read',
  )
  const [project, ...others] = projects.filter(
    ({ id, name }) => id === nameOrId || name === nameOrId,
  )
  if (!project) throw new OperatorError(`there is no project ${JSON.stringify(nameOrId)}`)
  if (others.length > 0)
    throw new OperatorError(
      `${others.length + 1} projects are named ${JSON.stringify(nameOrId)}; give the id`,
    )
  return project
}
