import type { JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'

export type Fetch = typeof globalThis.fetch

export type Remote = {
  /** The agent's base URL, or the URL of its card if it ends in `.json`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Reads the options that `parseOptions` accepted and the store kept. */
export function remoteOf(
  { url, timeoutMs }: JsonObject,
  { headers }: JsonObject,
): Remote | undefined {
  if (typeof url !== 'string') return undefined
  return {
    url,
    headers: isJsonObject(headers) ? (headers as Record<string, string>) : {},
    ...(typeof timeoutMs === 'number' && { timeoutMs }),
  }
}
