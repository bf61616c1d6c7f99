import type { Project, Storage } from '@org/agent-messaging-core/storage'
import { memoryStorage } from '@org/agent-messaging-testing'
import { okAsync } from 'neverthrow'

/** Keeps projects in a map. The memory storage still does all other work. */
export function myStorage(rest: Storage = memoryStorage()): Storage {
  const projects = new Map<string, Project>()
  return {
    ...rest,
    credentials: {
      ...rest.credentials,
      createProject: (project, audit) => {
        projects.set(project.id, project)
        // Its other rows belong to the project.
        return rest.credentials.createProject(project, audit)
      },
      getProject: (id) => okAsync(projects.get(id)),
      updateProject: (id, change, audit) =>
        rest.credentials.updateProject(id, change, audit).map((changed) => {
          if (changed) projects.set(id, changed)
          return changed
        }),
    },
  }
}
