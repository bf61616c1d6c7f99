import { given, type Crypto } from '@org/agent-messaging-core/runtime'
import type { EndpointService } from '@org/agent-messaging-core/host'
import { byApiKey, type Authenticate } from './access.js'
import type { RequestFacts } from './exchange.js'

export type EndpointOptions = {
  readonly service: EndpointService
  readonly crypto: Pick<Crypto, 'sha256'>
  /** Returns the caller of a request, or its refusal. Default: by the API key of a project. */
  readonly authenticate?: Authenticate | undefined
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

const defaults = {
  // JSON can take twelve bytes for one character. The longest message with the longest metadata
  // must fit in any notation.
  maxBodyBytes: 1024 * 1024,
  // The timeout of the official clients of OpenAI.
  maxWaitMs: 600_000,
  now: () => performance.now(),
}
type Defaults = typeof defaults & { readonly authenticate: Authenticate }

/** Fills in the options that are absent. */
export const withDefaults = <O extends Pick<EndpointOptions, 'service'>>(
  options: O,
): O & Defaults => {
  const all = { ...defaults, ...given(options) } as O & Defaults
  return { ...all, authenticate: all.authenticate ?? byApiKey(all) }
}
