import { Role, type Message, type Part, type Task } from '@a2a-js/sdk'

/** The text of a message; parts that are files or data are not text. */
export const textOf = ({ parts }: { readonly parts: readonly Part[] }): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

/** What a completed task came to: its artifacts, or the words that it ended with. */
export function answerOf(task: Task): string {
  const made = task.artifacts.map(textOf).filter((text) => text !== '')
  return made.length > 0 ? made.join('\n\n') : lastWords(task)
}

/** What the agent said with its present status, or last of all. */
export function lastWords({ status, history }: Task): string {
  const said: Message | undefined =
    status?.message ?? history.findLast(({ role }) => role === Role.ROLE_AGENT)
  return said ? textOf(said) : ''
}
