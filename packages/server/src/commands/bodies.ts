import { type Project } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'

/** What --json prints of a project; all else is as the HTTP API shows it. */
export const projectBody = ({ id, name, createdAt }: Project) => ({
  id,
  name,
  createdAt: toIso(createdAt),
})
