import type { Json } from '@org/agent-messaging-core'
import { isJsonObject, parseJsonText } from '@org/agent-messaging-core/runtime'

/** An error of the model's server, from the response's status or inside a response. */
export class ModelError extends Error {
  readonly status: number | undefined
  readonly retryAfter: string | null

  constructor(message: string, status?: number, retryAfter: string | null = null) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/**
 * Returns an error in one of these shapes: `{"error": {"message", "code"?}}` of OpenAI and vLLM,
 * `{"error": "text"}` of Ollama, `{"object": "error", "message"}` of older vLLM.
 */
export function modelErrorIn(json: Json | undefined): ModelError | undefined {
  const piece = isJsonObject(json) ? json : {}
  const error = piece['object'] === 'error' ? piece : piece['error']
  if (error === undefined || error === null) return undefined
  const { message = error, code } = isJsonObject(error) ? error : {}
  return new ModelError(
    typeof message === 'string' ? message : JSON.stringify(message),
    typeof code === 'number' ? code : undefined,
  )
}

/** Returns undefined if the text is not JSON. */
export function parsedJson(text: string): Json | undefined {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}
