import type { MessagingService, Project } from '@org/agent-messaging-core'
import { allPages } from '@org/agent-messaging-node/wiring'
import { OperatorError } from './operator-error.js'

/** The project with this name or id. */
export const projectNamed = async (service: MessagingService, name: string): Promise<Project> =>
  projectAmong(
    await allPages((page) => service.projects.list(page), 'cannot list the projects'),
    name,
  )

/** Picks the project with this name or id. */
export function projectAmong<Named extends Pick<Project, 'id' | 'name'>>(
  projects: readonly Named[],
  nameOrId: string,
): Named {
  const [project, ...others] = projects.filter(
    ({ id, name }) => id === nameOrId || name === nameOrId,
  )
  const shown = JSON.stringify(nameOrId)
  if (!project) throw new OperatorError(`project ${shown} not found`)
  if (others.length > 0)
    throw new OperatorError(`${others.length + 1} projects are named ${shown}; use the id instead`)
  return project
}
