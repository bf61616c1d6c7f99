import type { JsonObject } from '@org/agent-messaging-core'
import type { TraceContext } from '@org/agent-messaging-core/runtime'
import { ModelError, modelErrorIn, parsedJson } from './model-error.js'
import type { OpenaiOptions } from './openai-options.js'

/** An agent's own headers win, because some servers take a key in one. */
export function chatHeaders({
  apiKey,
  headers,
}: Pick<OpenaiOptions, 'apiKey' | 'headers'>): Headers {
  const sent = new Headers({ accept: 'application/json, text/event-stream' })
  if (apiKey !== undefined) sent.set('authorization', `Bearer ${apiKey}`)
  for (const [name, value] of Object.entries(headers ?? {})) sent.set(name, value)
  return sent
}

/** Adds the trace of a run. */
export function withTrace(headers: Headers, trace: TraceContext | undefined): Headers {
  if (!trace) return headers
  const sent = new Headers(headers)
  for (const [name, value] of Object.entries(trace)) sent.set(name, value)
  return sent
}

export type ChatRequest = {
  readonly url: string
  readonly headers: Headers
  readonly body: JsonObject
  readonly signal: AbortSignal
}

/** Throws a `ModelError` unless the server accepts the request. */
export async function chatResponse(
  send: typeof fetch,
  { url, headers, body, signal }: ChatRequest,
): Promise<Response> {
  const sent = new Headers(headers)
  sent.set('content-type', 'application/json')
  const response = await send(url, {
    method: 'POST',
    headers: sent,
    body: JSON.stringify(body),
    signal,
  })
  if (response.ok) return response
  const text = await response.text()
  const told = modelErrorIn(parsedJson(text))?.message ?? (text === '' ? 'without a body' : text)
  const { status } = response
  throw new ModelError(`${status} ${told}`, status, response.headers.get('retry-after'))
}
