import type { Json } from '@org/agent-messaging-core'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { partsOfCall } from './acp-parts.js'
import { TOOL_KINDS } from './acp-permissions.js'
import { readToolCall, type ToolCall } from './acp-tool-call.js'

export type AnswerOptions = {
  readonly maxLength: number
  emit(emitted: string | PartEvent): void
  /** Called once. The answer collects no text after that. */
  onRefused(): void
}

/** A turn with more tool calls forgets the oldest one. */
const MAX_TOOL_CALLS = 1_000
/** Characters of JSON that a turn keeps of its parts. */
const MAX_PARTS_LENGTH = 1024 * 1024

/** The text, the tool calls and the other parts of an agent in one turn. */
export class AcpAnswer {
  readonly #options: AnswerOptions
  readonly #emitted: (string | PartEvent)[] = []
  readonly #calls = new Map<string, ToolCall>()
  #length = 0
  #partsLength = 0
  #toolCallSinceText = false
  #problem: string | undefined

  constructor(options: AnswerOptions) {
    this.#options = options
  }

  /** What the agent has emitted in this turn, without parts beyond the limit. */
  get emitted(): readonly (string | PartEvent)[] {
    return this.#emitted
  }

  get text(): string {
    return this.#emitted.filter((one) => typeof one === 'string').join('')
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
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#addText(update.content.text)
      case 'agent_thought_chunk':
        return this.#addPart({ type: 'reasoning-delta', id: 'thought', text: update.content.text })
      case 'plan':
        // A plan replaces the earlier plan of the turn.
        return this.#addPart({
          type: 'data',
          name: 'plan',
          id: 'plan',
          data: { entries: update.entries as Json[] },
        })
      default:
        return this.#addCall(update)
    }
  }

  #addCall(update: Extract<AgentUpdate, { toolCallId: string }>) {
    this.#toolCallSinceText = true
    const { toolCallId } = update
    const known = this.#calls.get(toolCallId)
    const call = { ...known, ...readToolCall(update) }
    this.#calls.set(toolCallId, call)
    const [oldest] = this.#calls.keys()
    if (oldest !== undefined && this.#calls.size > MAX_TOOL_CALLS) this.#calls.delete(oldest)
    for (const part of partsOfCall(update, call, !known)) this.#addPart(part)
  }

  #addPart(part: PartEvent) {
    if (this.#problem !== undefined) return
    const length = this.#partsLength + lengthOf(part)
    if (length <= MAX_PARTS_LENGTH) {
      this.#partsLength = length
      this.#emitted.push(part)
    }
    this.#options.emit(part)
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
    const last = this.#emitted.at(-1)
    if (typeof last === 'string') this.#emitted.splice(-1, 1, last + chunk)
    else this.#emitted.push(chunk)
    emit(chunk)
  }
}

/** Infinite for a value that is nested too deeply for `JSON.stringify`. */
function lengthOf(part: PartEvent): number {
  try {
    return JSON.stringify(part).length
  } catch {
    return Infinity
  }
}

/** A report of the agent about its answer. */
type AgentUpdate = z.infer<typeof update>

const text = z.object({ type: z.literal('text'), text: z.string() })

const update = z.discriminatedUnion('sessionUpdate', [
  z.object({
    sessionUpdate: z.literal('agent_message_chunk'),
    content: text,
  }),
  z.object({ sessionUpdate: z.literal('agent_thought_chunk'), content: text }),
  z.object({ sessionUpdate: z.literal('plan'), entries: z.array(z.unknown()) }),
  z.object({
    sessionUpdate: z.enum(['tool_call', 'tool_call_update']),
    toolCallId: z.string(),
    status: z.string().nullish().catch(undefined),
    kind: z.enum(TOOL_KINDS).nullish().catch(undefined),
    title: z.string().nullish().catch(undefined),
    locations: z
      .array(z.object({ path: z.string() }))
      .nullish()
      .catch(undefined),
    rawInput: z.unknown().optional(),
    rawOutput: z.unknown().optional(),
    content: z.unknown().optional(),
  }),
])

const notification = z.object({ sessionId: z.string(), update })

/** Returns undefined for other reports: images and kinds of later versions. */
export const readUpdate = (params: unknown): z.infer<typeof notification> | undefined =>
  notification.safeParse(params).data
