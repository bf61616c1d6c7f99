import type { EndpointService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'

export type OpenAiEndpointOptions = {
  readonly service: EndpointService
  readonly crypto: Pick<Crypto, 'sha256'>
  /** Makes the id of a request whose caller sent none, and the names of new sessions. */
  readonly newId: () => string
  /** The largest request body. Default: 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** How long a request without `background` and `stream` waits. Default: 10 minutes. */
  readonly maxWaitMs?: number | undefined
  /** Receives unexpected exceptions. The caller gets a 500 with the same request id. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  /** Called once for each request, when its answer is ready. */
  readonly onRequest?: ((facts: OpenAiRequestFacts) => void) | undefined
  /** Milliseconds from any origin. */
  readonly now?: (() => number) | undefined
}

/** One request, for a log line or a metric. */
export type OpenAiRequestFacts = {
  readonly method: string
  /** The route's pattern, not the path. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  /** Absent if the request was refused before its API key was read. */
  readonly projectId?: string
}

const defaults = {
  maxBodyBytes: 1024 * 1024,
  // The timeout of the official clients.
  maxWaitMs: 600_000,
  now: () => performance.now(),
}

export type Deps = OpenAiEndpointOptions & {
  readonly [K in keyof typeof defaults]: (typeof defaults)[K]
}

export const withDefaults = (options: OpenAiEndpointOptions): Deps => ({
  ...options,
  maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
  maxWaitMs: options.maxWaitMs ?? defaults.maxWaitMs,
  now: options.now ?? defaults.now,
})
