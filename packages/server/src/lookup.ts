import type { MessagingService, Page, PageOf, Project } from '@org/agent-messaging-core'
import type { Stored } from '@org/agent-messaging-core/storage'
import { OperatorError, orFail } from './operator-error.js'

const PAGE_LENGTH = 100

/** Reads all pages of a list. */
export async function allPages<T>(
  list: (page: PageOf) => Stored<Page<T>>,
  failure: string,
): Promise<T[]> {
  const rows: T[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page<T> = await orFail(
      list({ limit: PAGE_LENGTH, ...(cursor !== undefined && { cursor }) }),
      failure,
    )
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}

/** The project with this name or id. */
export async function projectNamed(service: MessagingService, nameOrId: string): Promise<Project> {
  const projects = await allPages((page) => service.projects.list(page), 'cannot list the projects')
  const [project, ...others] = projects.filter(
    ({ id, name }) => id === nameOrId || name === nameOrId,
  )
  const shown = JSON.stringify(nameOrId)
  if (!project) throw new OperatorError(`project ${shown} not found`)
  if (others.length > 0)
    throw new OperatorError(`${others.length + 1} projects are named ${shown}; use the id instead`)
  return project
}
