import type { EndpointService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'

export type A2aEndpointOptions = {
  readonly service: EndpointService
  readonly crypto: Pick<Crypto, 'sha256'>
  /** Makes the id of a request whose caller sent none, and the names of new sessions. */
  readonly newId: () => string
  /**
   * URL at which clients reach this server, for the agent cards. Default: the origin of the request
   * for the card.
   */
  readonly publicUrl?: (() => string | undefined) | undefined
  /** The largest request body. Default: 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** How long a send without `returnImmediately` waits. Default: 10 minutes. */
  readonly maxWaitMs?: number | undefined
  /** Receives unexpected exceptions. The caller gets an error with the same request id. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  /** Called once for each request, when its answer is ready. */
  readonly onRequest?: ((facts: A2aRequestFacts) => void) | undefined
  /** Milliseconds from any origin. */
  readonly now?: (() => number) | undefined
}

/** One request, for a log line or a metric. */
export type A2aRequestFacts = {
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
  maxWaitMs: 600_000,
  now: () => performance.now(),
}

export type Deps = A2aEndpointOptions & {
  readonly [K in keyof typeof defaults]: (typeof defaults)[K]
}

export const withDefaults = (options: A2aEndpointOptions): Deps => ({
  ...options,
  maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
  maxWaitMs: options.maxWaitMs ?? defaults.maxWaitMs,
  now: options.now ?? defaults.now,
})
