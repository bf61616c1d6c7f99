import type { EndpointService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { ErrorCode } from '@org/agent-messaging-http-kit'

export type HttpOptions = {
  readonly service: EndpointService
  readonly crypto: Pick<Crypto, 'equal'>
  /** Makes the id of a request whose caller sent none. Each id must be unique. */
  readonly newRequestId: () => string
  /**
   * The path under which callers reach the app, such as `/messaging`. Set it if the host cuts this
   * path off before the app sees the request, as Express does with `app.use('/messaging', …)`.
   * `Location` headers and the `servers` of the OpenAPI document start with it.
   */
  readonly basePath?: string | undefined
  /** The bearer token of the cron route. Without it the route refuses every request. */
  readonly cronSecret?: string | undefined
  /**
   * The bearer token of `/v1/projects` and `/v1/operator/…`. Without it, these routes refuse every
   * request.
   */
  readonly operatorKey?: string | undefined
  /** The pages that portal links open. Without it, the service refuses to create links. */
  readonly portal?: PortalPages | undefined
  /** Serves `/metrics` with the host's text. Without `token` the route is public. */
  readonly metrics?:
    | { readonly read: () => Promise<MetricsText>; readonly token?: string | undefined }
    | undefined
  /** The longest duration of one pass of the cron route. */
  readonly cronBudgetMs?: number | undefined
  /** The largest request body, except for a runtime's late answer. */
  readonly maxBodyBytes?: number | undefined
  /** The largest body of a runtime's late answer. */
  readonly maxAnswerBytes?: number | undefined
  /** Receives unexpected exceptions. The caller gets a 500 with the same request id. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  /** Called once for each request, when its answer is ready. */
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined
  /** Milliseconds from any origin. `durationMs` is measured with it. */
  readonly now?: (() => number) | undefined
}

export type PortalPages = {
  /** Returns the URL of the page that opens a session, once it is known. */
  readonly pageUrl: () => string | undefined
  /** The origins of the pages that customers can come from and go back to. */
  readonly returnOrigins: readonly string[]
}

export type MetricsText = { readonly contentType: string; readonly text: string }

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

const KIB = 1024

const defaults = {
  cronBudgetMs: 10_000,
  // JSON can take twelve bytes for one character. The longest message with the longest metadata
  // must fit in any notation, and so must the longest answer, whose length counts UTF-16 units.
  maxBodyBytes: 1024 * KIB,
  maxAnswerBytes: 6 * KIB * KIB + 64 * KIB,
  now: () => performance.now(),
}

/** One or more non-empty segments of legal URL characters. */
const BASE_PATH = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+)+$/i

export type HttpDeps = HttpOptions & { readonly [K in keyof typeof defaults]: (typeof defaults)[K] }

/** Throws a RangeError if `basePath` is not a path that a URL can contain. */
export function withDefaults(options: HttpOptions): HttpDeps {
  const { basePath } = options
  if (basePath !== undefined && !BASE_PATH.test(basePath))
    throw new RangeError(
      `basePath is ${JSON.stringify(basePath)}. It must be a URL path that starts with "/" and ` +
        'does not end with "/", such as "/messaging". Leave it out if the app is at the root.',
    )
  return {
    ...options,
    cronBudgetMs: options.cronBudgetMs ?? defaults.cronBudgetMs,
    maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
    maxAnswerBytes: options.maxAnswerBytes ?? defaults.maxAnswerBytes,
    now: options.now ?? defaults.now,
  }
}
