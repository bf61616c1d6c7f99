import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createHttpApp, isApiPath } from '@org/agent-messaging-adapter-http'
import type { ConsoleOptions } from '@org/agent-messaging-console'
import type { Telemetry } from '@org/agent-messaging-core/runtime'
import { byApiKey } from '@org/agent-messaging-http-kit'
import {
  asMissing,
  ENDPOINT_NAMES,
  openEndpoints,
  type App,
  type EndpointName,
} from '../endpoints.js'
import { requireKnownOptions } from '../known-options.js'
import { SetupError } from '../setup-error.js'
import { settingsOf, type Wiring } from '../wire.js'
import { badRequest } from './bad-request.js'
import { withCors, type CorsOptions } from './cors.js'
import { byHook, type Authorize } from './hook.js'
import type { OpenRequests } from './open-requests.js'

export type HttpOptions<Host = unknown> = {
  /**
   * The path in front of the API's own paths, such as `/messaging`. `node` answers paths without it
   * only if the host has cut it off and kept the whole path in `request.originalUrl`, as Express
   * does. `fetch` cannot see that, so it answers them always.
   */
  readonly basePath?: string | undefined
  /**
   * The host's own login, asked before an API key. Routes of the operator, of cron and of runs, and
   * one-time links stay as they are. If it throws, the answer is 500. A stream and a wait ask again.
   */
  readonly authorize?: Authorize<Host> | undefined
  /** Other origins whose pages can call the service, such as `https://app.example`. Default: none. */
  readonly cors?: CorsOptions | undefined
  /** Serves the console at `/console`, for people with an API key. Default: false. */
  readonly console?: boolean | undefined
  /** Other protocols to serve. Default: none. */
  readonly endpoints?: readonly EndpointName[] | undefined
  /** Bearer token of the operator's routes. Without it, they refuse every request. */
  readonly operatorKey?: string | undefined
  /** Bearer token of the cron route. Without it, the route refuses every request. */
  readonly cronSecret?: string | undefined
}

const OPTIONS: Readonly<Record<keyof HttpOptions, true>> = {
  authorize: true,
  basePath: true,
  console: true,
  cors: true,
  cronSecret: true,
  endpoints: true,
  operatorKey: true,
}

/** The service behind HTTP. */
export type HttpHandlers<Host = unknown> = {
  /** For hosts with Request and Response. */
  readonly fetch: (request: Request, host?: Host) => Promise<Response>
  /**
   * For hosts on `node:http`. Calls `next` for a path that is not of the service. `authorize` gets
   * `host`, by default the request.
   */
  readonly node: (
    request: IncomingMessage,
    response: ServerResponse,
    next?: () => void,
    host?: Host,
  ) => void
}

type Parts = Pick<Wiring, 'platform' | 'service'> & {
  readonly projectId: string
  readonly telemetry: Telemetry
  readonly publicUrl: string | undefined
  readonly requests: OpenRequests
}

/** Throws a `SetupError` if an option is wrong, or if an optional package is missing. */
export async function httpHandlers<Host>(
  parts: Parts,
  options: HttpOptions<Host>,
): Promise<HttpHandlers<Host>> {
  requireKnownOptions(options, OPTIONS)
  const { basePath, cors, authorize } = options
  if (authorize !== undefined && typeof authorize !== 'function')
    throw new SetupError('authorize must be a function', 2)
  /** What the hook gets, by the request of `fetch` or of Node. */
  const hosts = new WeakMap<object, Host>()
  const { api, otherOf } = await openApps(parts, options, (request) => hosts.get(request))
  const isOwn = (path: string): boolean => isApiPath(path) || otherOf(path) !== undefined
  /** Returns undefined for a path that is not below the base path. */
  const below = (path: string): string | undefined => {
    if (basePath === undefined) return path
    return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
  }
  const answer = async (request: Request, bindings?: object): Promise<Response> =>
    (otherOf(new URL(request.url).pathname) ?? api).fetch(request, bindings)
  const open = cors ? withCors(answer, cors, authorize !== undefined) : answer
  // Pages of other origins read the API and the endpoints only. The console has its own cookies.
  async function serve(host: Host | undefined, request: Request, bindings?: object) {
    if (host !== undefined) hosts.set(request, host)
    const isOfConsole = new URL(request.url).pathname.startsWith('/console')
    return (isOfConsole ? answer : open)(request, bindings)
  }
  const listen = getRequestListener(
    (request, env) => {
      const { incoming } = env as { readonly incoming: object }
      return serve(hosts.get(incoming), request, env)
    },
    {
      overrideGlobalObjects: false,
      hostname: 'localhost',
      errorHandler: badRequest,
    },
  )
  return {
    fetch: async (request, host) => {
      const { origin, pathname, search } = new URL(request.url)
      const path = below(pathname) ?? pathname
      const isCut = path !== pathname
      return parts.requests.add(
        serve(host, isCut ? await requestAt(origin + path + search, request) : request),
      )
    },
    // Express takes a function of four parameters for a handler of errors. A default does not count.
    node: (request, response, next, host = request as Host) => {
      // Express and Connect keep the whole URL when they cut off a path.
      const { url = '/', originalUrl = url } = request as { url?: string; originalUrl?: string }
      const own = below(url) ?? (originalUrl === url ? NOTHING : url)
      if (next && !isOwn(own.replace(/[?#].*/s, ''))) return next()
      hosts.set(request, host)
      // The listener reads the URL at once. The host's own code finds the URL as it was.
      request.url = own
      void parts.requests.add(listen(request, response))
      request.url = url
    },
  }
}

/** A path that nothing answers. */
const NOTHING = '/'

/** Returns the request with another URL. A body that other code has read stays read. */
async function requestAt(url: string, request: Request): Promise<Request> {
  if (!request.bodyUsed) return new Request(url, request)
  const { method, headers } = request
  const read = new Request(url, { method, headers, body: 'read' })
  await read.text()
  return read
}

/** Opens the API, and the other apps by their paths. */
async function openApps<Host>(
  { service, platform, telemetry, publicUrl, projectId }: Parts,
  { console: hasConsole = false, endpoints = [], authorize, cors, ...options }: HttpOptions<Host>,
  hostOf: (request: Request) => Host | undefined,
): Promise<{ readonly api: App; readonly otherOf: (path: string) => App | undefined }> {
  const { crypto, ids } = platform
  const newId = () => ids.next()
  const onError = (error: unknown, requestId = 'none') => {
    const reason = `the request ${requestId} failed: ${String(error)}`
    telemetry.record({ name: 'worker.failed', worker: 'http', reason })
  }
  const corsOrigins = cors?.origins ?? []
  const now = () => performance.now()
  const hook = authorize && {
    ask: async (request: Request, limit: AbortSignal) => {
      const { method, url, headers } = request
      const asked = {
        method,
        url: new URL(url),
        headers,
        // The signal of a request takes a kilobyte, so it is made only for a hook that reads it.
        get signal() {
          return AbortSignal.any([request.signal, limit])
        },
      }
      return authorize(asked, hostOf(request))
    },
    limitMs: 10_000,
    projectId,
    checkMs: service.policy.stream.keyCheckMs,
    now,
    onError,
    origins: publicUrl === undefined ? corsOrigins : [...corsOrigins, new URL(publicUrl).origin],
  }
  const authenticate = hook && byHook(hook, byApiKey({ service, now }))
  const common = { service, crypto, onError, authenticate, publicUrl: () => publicUrl }
  const unknown = endpoints.find((name) => !ENDPOINT_NAMES.includes(name))
  if (unknown !== undefined)
    throw new SetupError(
      `${JSON.stringify(unknown)} is not an endpoint; the endpoints are ${ENDPOINT_NAMES.join(', ')}`,
      2,
    )
  if (hasConsole && options.basePath !== undefined)
    throw new SetupError('the console works only at /console: leave out basePath', 2)
  const api = settingsOf(() => createHttpApp({ ...common, ...options, newRequestId: newId }))
  const endpointOf = await openEndpoints(endpoints, { ...common, newId, corsOrigins })
  const pages = hasConsole
    ? await openConsole({ ...common, operatorKey: options.operatorKey })
    : undefined
  return {
    api,
    otherOf: (path) =>
      // The API answers 404 to every path with NUL.
      path.includes('%00') ? undefined : pages?.isConsolePath(path) ? pages : endpointOf(path),
  }
}

async function openConsole(options: ConsoleOptions) {
  // Bundlers accept a missing package only in an `import` inside `try`.
  try {
    const { createConsole } = await import('@org/agent-messaging-console')
    const { isConsolePath } = await import('@org/agent-messaging-console/path')
    return { ...createConsole(options), isConsolePath }
  } catch (error) {
    throw asMissing(error, 'console')
  }
}
