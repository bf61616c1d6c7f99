import type { EndpointService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'

export type McpEndpointOptions = {
  readonly service: EndpointService
  readonly crypto: Pick<Crypto, 'sha256'>
  /** Makes the id of a request whose caller sent none, and the names of new sessions. */
  readonly newId: () => string
  /**
   * URL at which clients reach this server. Pages of its origin can call the route. Pages of
   * `localhost` always can, and all other pages never.
   */
  readonly publicUrl?: (() => string | undefined) | undefined
  /** The largest request body. Default: 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Receives unexpected exceptions. The caller gets an error with the same request id. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  /** Called once for each request, when its answer is ready. */
  readonly onRequest?: ((facts: McpRequestFacts) => void) | undefined
  /** Milliseconds from any origin. */
  readonly now?: (() => number) | undefined
}

/** One request, for a log line or a metric. */
export type McpRequestFacts = {
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
  now: () => performance.now(),
}

export type Deps = McpEndpointOptions & {
  readonly [K in keyof typeof defaults]: (typeof defaults)[K]
}

export const withDefaults = (options: McpEndpointOptions): Deps => ({
  ...options,
  maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
  now: options.now ?? defaults.now,
})
