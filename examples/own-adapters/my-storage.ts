import type { Project } from '@org/agent-messaging-core'
import type { Storage } from '@org/agent-messaging-core/storage'
import { memoryStorage } from '@org/agent-messaging-testing'

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
      getProject: async (id) => ({ ok: true, value: projects.get(id) }),
      updateProject: async (id, change, audit) => {
        const changed = await rest.credentials.updateProject(id, change, audit)
        if (changed.ok && changed.value) projects.set(id, changed.value)
        return changed
      },
    },
  }
}
