import { z } from 'zod'
import { TOOL_KINDS } from './acp-permissions.js'
import { readToolCall, type ToolCall } from './acp-tool-call.js'

export type AnswerOptions = {
  readonly maxLength: number
  emit(chunk: string): void
  /** Called once. The answer collects no text after that. */
  onRefused(): void
}

/** A turn with more tool calls forgets the oldest one. */
const MAX_TOOL_CALLS = 1_000

/** The text and the tool calls of an agent in one turn. */
export class AcpAnswer {
  readonly #options: AnswerOptions
  readonly #chunks: string[] = []
  readonly #calls = new Map<string, ToolCall>()
  #length = 0
  #toolCallSinceText = false
  #problem: string | undefined

  constructor(options: AnswerOptions) {
    this.#options = options
  }

  get text(): string {
    return this.#chunks.join('')
  }

  /** Why the answer cannot count. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Only the first problem counts. */
  refuse(problem: string): void {
    if (this.#problem !== undefined) return
    this.#problem = problem
    this.#options.onRefused()
  }

  callOf(toolCallId: string): ToolCall | undefined {
    return this.#calls.get(toolCallId)
  }

  add(update: AgentUpdate): void {
    if (update.sessionUpdate === 'agent_message_chunk') return this.#addText(update.content.text)
    this.#toolCallSinceText = true
    const { toolCallId } = update
    this.#calls.set(toolCallId, { ...this.#calls.get(toolCallId), ...readToolCall(update) })
    const [oldest] = this.#calls.keys()
    if (oldest !== undefined && this.#calls.size > MAX_TOOL_CALLS) this.#calls.delete(oldest)
  }

  /** Separates the text before and after a tool call. */
  #addText(text: string) {
    if (text === '') return
    if (this.#toolCallSinceText && this.#length > 0) this.#append('\n\n')
    this.#toolCallSinceText = false
    this.#append(text)
  }

  #append(chunk: string) {
    if (this.#problem !== undefined) return
    const { maxLength, emit } = this.#options
    this.#length += chunk.length
    if (this.#length > maxLength)
      return this.refuse(`the agent's answer has more than ${maxLength} characters`)
    this.#chunks.push(chunk)
    emit(chunk)
  }
}

/** A report of the agent about text of the answer or about a tool call. */
type AgentUpdate = z.infer<typeof update>

const update = z.discriminatedUnion('sessionUpdate', [
  z.object({
    sessionUpdate: z.literal('agent_message_chunk'),
    content: z.object({ type: z.literal('text'), text: z.string() }),
  }),
  z.object({
    sessionUpdate: z.enum(['tool_call', 'tool_call_update']),
    toolCallId: z.string(),
    kind: z.enum(TOOL_KINDS).nullish().catch(undefined),
    title: z.string().nullish().catch(undefined),
    locations: z
      .array(z.object({ path: z.string() }))
      .nullish()
      .catch(undefined),
    rawInput: z.unknown().optional(),
    content: z.unknown().optional(),
  }),
])

const notification = z.object({ sessionId: z.string(), update })

/** Returns undefined for other reports: thoughts, plans, images and kinds of later versions. */
export const readUpdate = (params: unknown): z.infer<typeof notification> | undefined =>
  notification.safeParse(params).data
