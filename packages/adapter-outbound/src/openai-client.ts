import type { OpenAI } from 'openai'
import type { OpenaiOptions } from './openai-options.js'

/** Effectively none, because the signal of a run ends its request. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

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

/**
 * The SDK reads keys and headers from `OPENAI_*` in the environment and would send them to any
 * server that an agent names. So `fetch` replaces all headers. The service retries, not the SDK.
 * The SDK loads on first use, because loading takes as long as all other code.
 */
export async function openaiClient(
  baseURL: string,
  sent: Headers,
  fetch: typeof globalThis.fetch,
): Promise<OpenAI> {
  const { OpenAI } = await import('openai')
  return new OpenAI({
    baseURL,
    apiKey: 'not sent',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: 'off',
    fetch: (url, init) => {
      const headers = new Headers(sent)
      if (init?.body !== undefined) headers.set('content-type', 'application/json')
      return fetch(url, { ...init, headers })
    },
  })
}
