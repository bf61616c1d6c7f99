import type { OpenAI } from 'openai'
import type { OpenaiOptions } from './openai-options.js'

/** Longer than any run; ours are ended by their signals. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** What is sent beside the body. An agent's own headers win: some servers want their key in one. */
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
 * The client knows no key, and its headers stay here: it reads `OPENAI_*` from our environment, custom headers too, and
 * would send them to whatever server an agent names. Nothing is retried, as that is for the service to decide. The SDK takes as long to
 * load as all the rest of us: only who has such an agent waits for it.
 */
export async function openaiClient(
  baseURL: string,
  sent: Headers,
  fetch: typeof globalThis.fetch,
): Promise<OpenAI> {
  const { OpenAI } = await import('openai')
  return new OpenAI({
    ...{
      baseURL,
      apiKey: 'not sent',
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
    },
    ...{ maxRetries: 0, timeout: NO_TIMEOUT_MS, logLevel: 'off' },
    fetch: (url, init) => {
      const headers = new Headers(sent)
      if (init?.body !== undefined) headers.set('content-type', 'application/json')
      return fetch(url, { ...init, headers })
    },
  })
}
