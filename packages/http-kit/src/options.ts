import type { EndpointService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { ErrorCode } from './error-codes.js'

export type EndpointOptions = {
  readonly service: EndpointService
  readonly crypto: Pick<Crypto, 'sha256'>
  /** Makes the id of a request whose caller sent none, and the names of new sessions. */
  readonly newId: () => string
  /** The largest request body. Default: 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Receives unexpected exceptions. The caller gets an error with the same request id. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  /** Called once for each request, when its answer is ready. */
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined
  /** Milliseconds from any origin. Durations are measured with it. */
  readonly now?: (() => number) | undefined
}

/** One request, for a log line or a metric. */
export type RequestFacts = {
  readonly method: string
  /** The route's pattern, not the path. Empty if no route matched. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  /** Absent if the request was refused before its API key was read. */
  readonly projectId?: string
  readonly errorCode?: ErrorCode
  /** Why the storage is unavailable. The operator sees the reason, the caller does not. */
  readonly reason?: string
}

const defaults = {
  // JSON can take twelve bytes for one character. The longest message with the longest metadata
  // must fit in any notation.
  maxBodyBytes: 1024 * 1024,
  // The timeout of the official clients of OpenAI.
  maxWaitMs: 600_000,
  now: () => performance.now(),
}
type Defaults = typeof defaults

/** Fills in the options that are absent. */
export const withDefaults = <O extends object>(options: O): O & Defaults => {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) } as O & Defaults
}
