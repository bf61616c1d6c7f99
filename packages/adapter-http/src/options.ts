import type { Crypto } from '@org/agent-messaging-core/runtime'
import {
  withDefaults as withKitDefaults,
  type EndpointOptions,
  type PortalLook,
} from '@org/agent-messaging-http-kit'

export type HttpOptions = Pick<
  EndpointOptions,
  'service' | 'authenticate' | 'maxBodyBytes' | 'onError' | 'onRequest' | 'now'
> & {
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
  /** The look of the page behind a one-time link. */
  readonly look?: PortalLook | undefined
  /** Serves `/metrics` with the host's text. Without `token` the route is public. */
  readonly metrics?:
    | { readonly read: () => Promise<MetricsText>; readonly token?: string | undefined }
    | undefined
  /** The longest duration of one pass of the cron route. */
  readonly cronBudgetMs?: number | undefined
  /** The largest body of a runtime's late answer. `maxBodyBytes` limits all other bodies. */
  readonly maxAnswerBytes?: number | undefined
}

export type PortalPages = {
  /** Returns the URL of the page that opens a session, once it is known. */
  readonly pageUrl: () => string | undefined
  /** The origins of the pages that customers can come from and go back to. */
  readonly returnOrigins: readonly string[]
}

export type MetricsText = { readonly contentType: string; readonly text: string }

const KIB = 1024

const defaults = {
  cronBudgetMs: 10_000,
  // The longest answer must fit in any notation. Its length counts UTF-16 units.
  maxAnswerBytes: 6 * KIB * KIB + 64 * KIB,
}

/** One or more non-empty segments of legal URL characters. */
const BASE_PATH = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+)+$/i

export type HttpDeps = ReturnType<typeof withDefaults>

/** Throws a RangeError if `basePath` is not a path that a URL can contain. */
export function withDefaults(options: HttpOptions) {
  const { basePath } = options
  if (basePath !== undefined && !BASE_PATH.test(basePath))
    throw new RangeError(
      `basePath is ${JSON.stringify(basePath)}. It must be a URL path that starts with "/" and ` +
        'does not end with "/", such as "/messaging". Leave it out if the app is at the root.',
    )
  return withKitDefaults({
    ...options,
    cronBudgetMs: options.cronBudgetMs ?? defaults.cronBudgetMs,
    maxAnswerBytes: options.maxAnswerBytes ?? defaults.maxAnswerBytes,
  })
}
