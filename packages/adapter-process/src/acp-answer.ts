import type { ToolKind } from '@agentclientprotocol/sdk'
import type { AgentUpdate } from './acp-updates.js'

/** What an agent says and does in one turn. */
export type Answer = {
  take(update: AgentUpdate): void
  readonly text: () => string
  readonly isTooLong: () => boolean
  /** As the agent's reports of a tool call had it. */
  readonly kindOf: (toolCallId: string) => ToolKind | undefined
}

export type AnswerOptions = {
  /** UTF-16 units. */
  readonly maxLength: number
  emit(chunk: string): void
  /** Called once; nothing is collected from then on. */
  onTooLong(): void
}

/** Tool calls of one turn whose kind is kept; those beyond are of kind "other". */
const MAX_TOOL_CALLS = 10_000

export function collectAnswer({ maxLength, emit, onTooLong }: AnswerOptions): Answer {
  const chunks: string[] = []
  const kinds = new Map<string, ToolKind>()
  let length = 0
  let isInterrupted = false

  function add(chunk: string): void {
    if (length > maxLength) return
    length += chunk.length
    if (length > maxLength) return onTooLong()
    chunks.push(chunk)
    emit(chunk)
  }

  /** What an agent says before it uses a tool and after it are two things: without a space they would read as one word. */
  function say(text: string): void {
    if (text === '') return
    if (isInterrupted && length > 0) add('\n\n')
    isInterrupted = false
    add(text)
  }

  return {
    take(update) {
      if (update.sessionUpdate === 'agent_message_chunk') return say(update.content.text)
      isInterrupted = true
      if (update.kind && kinds.size < MAX_TOOL_CALLS) kinds.set(update.toolCallId, update.kind)
    },
    text: () => chunks.join(''),
    isTooLong: () => length > maxLength,
    kindOf: (toolCallId) => kinds.get(toolCallId),
  }
}
