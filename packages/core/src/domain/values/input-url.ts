import type { JsonObject } from './json.js'

/**
 * Removes the one-time link from the body of an event. Only receivers of webhooks get the link:
 * lists, the log of events and the console do not show it.
 */
export function withoutInputUrl(body: string): string {
  if (!body.startsWith('{"event":"message.input_required"')) return body
  const event = JSON.parse(body) as { readonly data: JsonObject }
  const { inputUrl, ...data } = event.data
  return inputUrl === undefined ? body : JSON.stringify({ ...event, data })
}
