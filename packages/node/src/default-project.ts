import type { Project } from '@org/agent-messaging-core'
import type { Clock, Ids } from '@org/agent-messaging-core/runtime'
import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import { allPages } from './all-pages.js'
import { valueOf, valueOrSetupError } from './setup-error.js'

const DEFAULT_PROJECT_SETTING = 'default-project'
export const DEFAULT_PROJECT = 'default'

/** Creates the project `default` once, even if several processes start at the same time. */
export async function ensureDefaultProject({
  storage,
  clock,
  ids,
}: {
  storage: Storage
  clock: Clock
  ids: Ids
}): Promise<Project> {
  const { credentials } = storage
  const failure = 'cannot create the project "default"'
  const done = <T>(stored: Stored<T>): Promise<T> => valueOrSetupError(valueOf(stored), failure)
  const projects = await allPages((page) => valueOf(credentials.listProjects(page)), failure)
  const first = projects.find(({ name }) => name === DEFAULT_PROJECT)?.id ?? ids.next()
  const isFirst = await done(credentials.replaceSetting(DEFAULT_PROJECT_SETTING, undefined, first))
  const id = isFirst
    ? first
    : ((await done(credentials.readSetting(DEFAULT_PROJECT_SETTING))) ?? first)
  const created = await done(credentials.getProject(id))
  if (created) return created
  const project = { id, name: DEFAULT_PROJECT, createdAt: clock.now() }
  await done(credentials.createProject(project))
  return project
}
