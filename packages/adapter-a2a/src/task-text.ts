import { Role, type Part, type Task } from '@a2a-js/sdk'

/** The text of a message or artifact, without files and data. */
export const textOf = ({ parts }: { readonly parts: readonly Part[] }): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

/** The answer of a completed task: its artifacts, or the agent's last message. */
export function answerOf(task: Task): string {
  const artifacts = task.artifacts.map(textOf).filter((text) => text !== '')
  return artifacts.length > 0 ? artifacts.join('\n\n') : lastMessage(task)
}

/** The text of the current status, or the agent's last message. */
export function lastMessage({ status, history }: Task): string {
  const message = status?.message ?? history.findLast(({ role }) => role === Role.ROLE_AGENT)
  return message ? textOf(message) : ''
}
