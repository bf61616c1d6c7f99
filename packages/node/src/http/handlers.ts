import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createHttpApp, isApiPath } from '@org/agent-messaging-adapter-http'
import type { ConsoleOptions } from '@org/agent-messaging-console'
import type { Telemetry } from '@org/agent-messaging-core/runtime'
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
import type { OpenRequests } from './open-requests.js'

export type HttpOptions = {
  /**
   * The path in front of the API's own paths, such as `/messaging`. The handlers answer paths with
   * and without it.
   */
  readonly basePath?: string | undefined
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
  basePath: true,
  console: true,
  cronSecret: true,
  endpoints: true,
  operatorKey: true,
}

/** The service behind HTTP. */
export type HttpHandlers = {
  /** For hosts with Request and Response. */
  readonly fetch: (request: Request) => Promise<Response>
  /** For hosts on `node:http`. Calls `next` for a path that is not of the service. */
  readonly node: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void
}

type Parts = Pick<Wiring, 'platform' | 'service'> & {
  readonly telemetry: Telemetry
  readonly publicUrl: string | undefined
  readonly requests: OpenRequests
}

/** Throws a `SetupError` if an option is wrong, or if an optional package is missing. */
export async function httpHandlers(parts: Parts, options: HttpOptions): Promise<HttpHandlers> {
  requireKnownOptions(options, OPTIONS)
  const { basePath } = options
  const { api, otherOf } = await openApps(parts, options)
  const isOwn = (path: string): boolean => isApiPath(path) || otherOf(path) !== undefined
  const below = (path: string): string =>
    basePath !== undefined && path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
  const serve = async (request: Request, bindings?: object): Promise<Response> =>
    (otherOf(new URL(request.url).pathname) ?? api).fetch(request, bindings)
  const listen = getRequestListener(serve, {
    overrideGlobalObjects: false,
    hostname: 'localhost',
    errorHandler: badRequest,
  })
  return {
    fetch: (request) => {
      const { origin, pathname, search } = new URL(request.url)
      const path = below(pathname)
      const isCut = path !== pathname
      return parts.requests.add(
        serve(isCut ? new Request(origin + path + search, request) : request),
      )
    },
    node: (request, response, next) => {
      const { url = '/' } = request
      const own = below(url)
      if (next && !isOwn(own.replace(/[?#].*/s, ''))) return next()
      // The listener reads the URL at once. The host's own code finds the URL as it was.
      request.url = own
      void parts.requests.add(listen(request, response))
      request.url = url
    },
  }
}

/** Opens the API, and the other apps by their paths. */
async function openApps(
  { service, platform, telemetry, publicUrl }: Parts,
  { console: hasConsole = false, endpoints = [], ...options }: HttpOptions,
): Promise<{ readonly api: App; readonly otherOf: (path: string) => App | undefined }> {
  const { crypto, ids } = platform
  const newId = () => ids.next()
  const onError = (error: unknown, requestId = 'none') => {
    const reason = `the request ${requestId} failed: ${String(error)}`
    telemetry.record({ name: 'worker.failed', worker: 'http', reason })
  }
  const common = { service, crypto, onError, publicUrl: () => publicUrl }
  const unknown = endpoints.find((name) => !ENDPOINT_NAMES.includes(name))
  if (unknown !== undefined)
    throw new SetupError(
      `${JSON.stringify(unknown)} is not an endpoint; the endpoints are ${ENDPOINT_NAMES.join(', ')}`,
      2,
    )
  if (hasConsole && options.basePath !== undefined)
    throw new SetupError('the console works only at /console: leave out basePath', 2)
  const api = settingsOf(() => createHttpApp({ ...common, ...options, newRequestId: newId }))
  const endpointOf = await openEndpoints(endpoints, { ...common, newId })
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
