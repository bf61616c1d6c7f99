import type { ToolKind } from '@agentclientprotocol/sdk'
import type { AgentUpdate } from './acp-updates.js'

export type AnswerOptions = {
  /** In UTF-16 units. */
  readonly maxLength: number
  emit(chunk: string): void
  /** Called once. The answer collects no text after that. */
  onTooLong(): void
}

/** How many tool calls of a turn keep their kind. Further calls have the kind `other`. */
const MAX_TOOL_CALLS = 10_000

/** The text and the tool calls of an agent in one turn. */
export class AcpAnswer {
  readonly #options: AnswerOptions
  readonly #chunks: string[] = []
  readonly #kinds = new Map<string, ToolKind>()
  #length = 0
  #toolCallSinceText = false

  constructor(options: AnswerOptions) {
    this.#options = options
  }

  get text(): string {
    return this.#chunks.join('')
  }

  get isTooLong(): boolean {
    return this.#length > this.#options.maxLength
  }

  /** The kind that the agent's reports gave this tool call. */
  kindOf(toolCallId: string): ToolKind | undefined {
    return this.#kinds.get(toolCallId)
  }

  add(update: AgentUpdate): void {
    if (update.sessionUpdate === 'agent_message_chunk') return this.#addText(update.content.text)
    this.#toolCallSinceText = true
    if (update.kind && this.#kinds.size < MAX_TOOL_CALLS)
      this.#kinds.set(update.toolCallId, update.kind)
  }

  /** Separates the text before and after a tool call, so that the words do not run together. */
  #addText(text: string): void {
    if (text === '') return
    if (this.#toolCallSinceText && this.#length > 0) this.#append('\n\n')
    this.#toolCallSinceText = false
    this.#append(text)
  }

  #append(chunk: string): void {
    if (this.isTooLong) return
    this.#length += chunk.length
    if (this.isTooLong) return this.#options.onTooLong()
    this.#chunks.push(chunk)
    this.#options.emit(chunk)
  }
}
