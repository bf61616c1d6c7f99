import type { Project } from '@org/agent-messaging-core'
import type { Clock, Ids } from '@org/agent-messaging-core/runtime'
import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import { allPages } from './all-pages.js'
import { valueOrSetupError } from './setup-error.js'
import { okAsync } from 'neverthrow'

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
  const existing = (await allPages((page) => credentials.listProjects(page), failure)).find(
    ({ name }) => name === DEFAULT_PROJECT,
  )
  const id = await valueOrSetupError(
    initSetting(storage, DEFAULT_PROJECT_SETTING, existing?.id ?? ids.next()),
    failure,
  )
  const created = await valueOrSetupError(credentials.getProject(id), failure)
  if (created) return created
  const project = { id, name: DEFAULT_PROJECT, createdAt: clock.now() }
  await valueOrSetupError(credentials.createProject(project), failure)
  return project
}

/** Sets the value if the setting has none. Returns the value that the setting has now. */
const initSetting = ({ credentials }: Storage, name: string, value: string): Stored<string> =>
  credentials
    .replaceSetting(name, undefined, value)
    .andThen((isSet) => (isSet ? okAsync(value) : credentials.readSetting(name)))
    .map((stored) => stored ?? value)
