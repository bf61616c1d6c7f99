import {
  failedRun,
  isJsonObject,
  type Json,
  type JsonObject,
  type RunOutcome,
} from '@org/agent-messaging-core/runtime'

/** What a server says of a failure inside an answer that began well. `status` is that of HTTP, where it names one. */
class ChatError extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

/** A chat completion, as it comes in pieces or in one. Servers leave out much, so nothing is taken to be there. */
export class ChatReply {
  private readonly maxLength: number
  private text = ''
  private finishReason: string | undefined
  private wantsTools = false

  constructor(maxLength: number) {
    this.maxLength = maxLength
  }

  get isTooLong(): boolean {
    return this.text.length > this.maxLength
  }

  /** Takes a `chat.completion` or a chunk of one; returns the text in it. Throws a `ChatError` when it is an error instead. */
  add(json: Json): string {
    const piece = isJsonObject(json) ? json : {}
    throwError(piece)
    const choice = objectOf(Array.isArray(piece['choices']) ? piece['choices'][0] : undefined)
    const {
      content,
      tool_calls: tools,
      function_call: call,
    } = objectOf(choice['delta'] ?? choice['message'])
    const text = textOf(content)
    this.text += text
    this.wantsTools ||= (Array.isArray(tools) && tools.length > 0) || isJsonObject(call)
    if (typeof choice['finish_reason'] === 'string') this.finishReason = choice['finish_reason']
    return text
  }

  /** `isWhole`: nothing was left to come, so there need not be a reason why it is finished. */
  outcome(isWhole: boolean): RunOutcome {
    if (this.isTooLong)
      return failedRun('RESPONSE_INVALID', `the answer has more than ${this.maxLength} characters`)
    if (this.finishReason === 'content_filter')
      return failedRun('RUNTIME_ERROR', 'the content filter of the server stopped the answer')
    if (this.wantsTools)
      return failedRun(
        'RESPONSE_INVALID',
        'the model asks for a tool to be called, and this service has none for it',
      )
    if (!isWhole && this.finishReason === undefined)
      return failedRun('RUNTIME_ERROR', 'the answer ended before it was finished', true)
    if (this.text === '') return failedRun('RESPONSE_INVALID', 'the model answered with no text')
    return { kind: 'answered', response: this.text }
  }
}

/** Mistral's and others give parts, `{"type": "text", "text"}`; what a model thinks is a part of another type, and no answer. */
function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content.map(objectOf) : []
  return parts
    .map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
    .join('')
}

const objectOf = (json: Json | undefined): JsonObject => (isJsonObject(json) ? json : {})

/** `{"error": {"message", "code"?}}` of OpenAI and vLLM, `{"error": "text"}` of Ollama, `{"object": "error", "message"}` of older vLLM. */
function throwError(piece: JsonObject): void {
  const error = piece['object'] === 'error' ? piece : piece['error']
  if (error === undefined || error === null) return
  const { message = error, code } = objectOf(error)
  throw new ChatError(
    typeof message === 'string' ? message : JSON.stringify(message),
    typeof code === 'number' ? code : undefined,
  )
}
