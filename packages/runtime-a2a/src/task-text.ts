import type { Message, Part, Task } from '@a2a-js/sdk'
import type { Json } from '@org/agent-messaging-core'
import { isJsonObject, type PartEvent } from '@org/agent-messaging-core/runtime'
import { Role } from './sdk.js'

/** The text of a message or artifact, without files and data. */
export const textOf = ({ parts }: { readonly parts: readonly Part[] }): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

/** Describes the parts that are no text, such as `2 × data (application/json)`. */
export function otherPartsOf(parts: readonly Part[]): string {
  const counts = new Map<string, number>()
  for (const { content, mediaType } of parts) {
    if (content === undefined || content.$case === 'text') continue
    const kind = content.$case === 'data' ? 'data' : 'file'
    const name = mediaType ? `${kind} (${mediaType})` : kind
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
}

/** All parts of an answer or a question. The agent's last message can repeat its artifacts. */
export function answerPartsOf(task: Task): readonly Part[] {
  const parts = task.artifacts.flatMap((artifact) => artifact.parts)
  const isText = parts.every(({ content }) => content?.$case === 'text')
  return isText ? [...parts, ...(lastMessageOf(task)?.parts ?? [])] : parts
}

/** Returns undefined for a text, and for a file with bytes. The service checks the values. */
export function partEventOf({
  content,
  metadata,
  mediaType,
  filename,
}: Part): PartEvent | undefined {
  if (content?.$case === 'url')
    return {
      type: 'file',
      url: content.value,
      mediaType: mediaType || 'application/octet-stream',
      ...(filename && { filename }),
    }
  if (content?.$case !== 'data') return undefined
  const { name, id } = isJsonObject(metadata) ? metadata : {}
  return {
    type: 'data',
    name: typeof name === 'string' && name !== '' ? name : 'data',
    ...(typeof id === 'string' && { id }),
    data: content.value as Json,
  }
}

/** The answer of a completed task: its artifacts, or the agent's last message. */
export function answerOf(task: Task): string {
  const artifacts = task.artifacts.map(textOf).filter((text) => text !== '')
  return artifacts.length > 0 ? artifacts.join('\n\n') : lastMessage(task)
}

/** The text of the current status, or the agent's last message. */
export function lastMessage(task: Task): string {
  const message = lastMessageOf(task)
  return message ? textOf(message) : ''
}

const lastMessageOf = ({ status, history }: Task): Message | undefined =>
  status?.message ?? history.findLast(({ role }) => role === Role.ROLE_AGENT)
