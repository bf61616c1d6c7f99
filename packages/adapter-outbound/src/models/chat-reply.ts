import type { Json } from '@org/agent-messaging-core'
import {
  failedRun,
  isJsonObject,
  parseRunUsage,
  type EndedRun,
  type RunOutcome,
  type RunUsage,
} from '@org/agent-messaging-core/runtime'
import { modelErrorIn } from './model-error.js'

/** The text and the reasoning of a chunk, or of a whole completion. */
export type ChatPiece = { readonly text: string; readonly reasoning: string }

/** A chat completion, whole or in chunks. Servers omit many fields. */
export class ChatReply {
  readonly #maxLength: number
  #text = ''
  #finishReason: string | undefined
  #callsTools = false
  #usage: RunUsage | undefined

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  get isTooLong(): boolean {
    return this.#text.length > this.#maxLength
  }

  /** Adds a `chat.completion` or a chunk. Throws a `ModelError` for an error. */
  add(json: Json): ChatPiece {
    const error = modelErrorIn(json)
    if (error) throw error
    const piece = objectOf(json)
    this.#usage = usageOf(piece['usage']) ?? this.#usage
    const choice = objectOf(Array.isArray(piece['choices']) ? piece['choices'][0] : undefined)
    const {
      content,
      tool_calls: tools,
      function_call: call,
      reasoning_content: thought,
      reasoning = thought,
    } = objectOf(choice['delta'] ?? choice['message'])
    const text = textOf(content)
    this.#text += text
    this.#callsTools ||= (Array.isArray(tools) && tools.length > 0) || isJsonObject(call)
    if (typeof choice['finish_reason'] === 'string') this.#finishReason = choice['finish_reason']
    return { text, reasoning: reasoningOf(reasoning, content) }
  }

  /** `isWhole`: the response is complete, even without a finish reason. */
  outcome(isWhole: boolean): RunOutcome {
    const outcome = this.#outcome(isWhole)
    return this.#usage ? { ...outcome, usage: this.#usage } : outcome
  }

  #outcome(isWhole: boolean): EndedRun {
    if (this.isTooLong)
      return failedRun('RESPONSE_INVALID', `the answer has more than ${this.#maxLength} characters`)
    if (this.#finishReason === 'content_filter')
      return failedRun('RUNTIME_ERROR', "the server's content filter blocked the answer")
    if (this.#callsTools)
      return failedRun('RESPONSE_INVALID', 'the model called a tool, and this service has no tools')
    if (!isWhole && this.#finishReason === undefined)
      return failedRun('RUNTIME_ERROR', 'the answer ended before it was complete', true)
    if (this.#text === '') return failedRun('RESPONSE_INVALID', 'the model returned no text')
    return { kind: 'answered', response: this.#text }
  }
}

/** A stream has the usage in its last chunk, if the request asks for it. */
const usageOf = (json: Json | undefined) => {
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = objectOf(json)
  return parseRunUsage({ inputTokens, outputTokens })
}

/** Mistral and others return parts: `{"type": "text", "text"}`. */
function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return partsOf(content)
    .map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
    .join('')
}

/** Most servers have a field beside the content. Mistral has parts of type `thinking` in it. */
function reasoningOf(field: Json | undefined, content: Json | undefined): string {
  if (typeof field === 'string') return field
  return partsOf(content)
    .map(({ type, thinking }) => (type === 'thinking' ? textOf(thinking) : ''))
    .join('')
}

const partsOf = (content: Json | undefined) => (Array.isArray(content) ? content.map(objectOf) : [])

const objectOf = (json: Json | undefined) => (isJsonObject(json) ? json : {})
