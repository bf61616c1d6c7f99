import { builtInAgents } from './agents-file.js'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import type { MessagingService } from '@org/agent-messaging-core'
import type { Telemetry } from '@org/agent-messaging-core/runtime'
import { errorIn, isSessionToken, unless } from '@org/agent-messaging-core/host'
import type { Storage } from '@org/agent-messaging-core/storage'
import { lookOf, portalPages, type PortalSettings } from './portal.js'
import type { Console, PortalLook } from '@org/agent-messaging-console'
import { isConsolePath } from '@org/agent-messaging-console/path'
import { createHttpApp, type RequestFacts } from '@org/agent-messaging-adapter-http'
import { openEndpoints, type EndpointName } from '@org/agent-messaging-node/endpoints'
import {
  ensureDefaultProject,
  wire,
  withCors,
  type Wiring,
  type WiringOptions,
} from '@org/agent-messaging-node/wiring'
import { ensureKey } from './bootstrap.js'
import { CredentialThrottle } from './listener/credential-throttle.js'
import { waysToSet } from './settings/environment.js'
import { openListener, type Listener } from './listener/http-listener.js'
import { logProgram, logTelemetry, silentLogger, type Logger } from './telemetry/logging.js'
import { OutageLog } from './telemetry/outage-log.js'
import type { Metrics } from './telemetry/metrics.js'
import { openMetricsListener } from './telemetry/metrics-listener.js'
import type { TraceExport } from './telemetry/otlp-traces.js'

export type ServerOptions = WiringOptions & {
  /** Default: 3000. 0 picks a free port. */
  readonly port?: number | undefined
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /**
   * For a process that runs only this server. See `ListenerOptions`. Also keeps V8 from allocating
   * objects of a request in the old generation, which it decides at random.
   */
  readonly overrideGlobalObjects?: boolean | undefined
  /** URL at which others reach this server. Agents receive it for their callbacks. */
  readonly publicUrl?: string | ((ownUrl: string) => string) | undefined
  /** Bearer token for `/api/cron/webhooks`. Without a token, the route refuses all calls. */
  readonly cronSecret?: string | undefined
  /** Bearer token for `/v1/projects`. Without it, the routes of the operator refuse all calls. */
  readonly operatorKey?: string | undefined
  /** Time limit of one call of the cron route. Default: 10 s. */
  readonly cronBudgetMs?: number | undefined
  /** Serves `/metrics` to callers with this bearer token. */
  readonly metricsToken?: string | undefined
  /** Serves `/metrics` without a token. */
  readonly openMetrics?: boolean | undefined
  /**
   * Address ranges of proxies in front of this server. Their `X-Forwarded-For` header names the
   * caller whose wrong credentials are counted.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /** Second port that serves only `/metrics`, without a token. 0 picks a free port. */
  readonly metricsPort?: number | undefined
  /** Exports spans over OTLP, as the `OTEL_*` variables of this process say. Default: false. */
  readonly exportsTraces?: boolean | undefined
  /** Exports metrics over OTLP in the same way. Default: false. */
  readonly exportsMetrics?: boolean | undefined
  /** Serves the console at `/console`. `dev` adds a webhook receiver. Default: `off`. */
  readonly console?: 'on' | 'off' | 'dev' | undefined
  /** The pages of customers, which need the console. */
  readonly portal?: PortalSettings | undefined
  /** Origins of web pages that can call the API and the endpoints. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined
  /** Other protocols to serve, such as `openai`. Default: none. */
  readonly endpoints?: readonly EndpointName[] | undefined
  /** API key with all permissions for the project `default`. Both are created if missing. */
  readonly bootstrapApiKey?: string | undefined
  /** `false` disables timers. Then only the cron route and `service.tick` do background work. */
  readonly worker?: boolean | undefined
  /**
   * Default: no logging.
   * Also receives telemetry and the output of programs, unless `telemetry` or `programLog` is set.
   */
  readonly logger?: Logger | undefined
}

export type RunningServer = {
  /** Such as `http://127.0.0.1:3000`. */
  readonly url: string
  /** URL of `/metrics` on its own port. */
  readonly metricsUrl?: string
  /** URL that signs in to the console with this key, once, within 15 minutes. */
  signInUrl(key: string): string | undefined
  readonly service: MessagingService
  readonly storage: Storage
  /**
   * Stops the server within `graceMs` (default: 8 s). Waiting callers get their 202 at once.
   * Current runs can finish. Then connections and the storage are closed.
   * The next start continues unfinished work.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

const GRACE_MS = 8_000

/** Starts a server in this process. Rejects with a `SetupError` if the server cannot start. */
export async function createServer(options: ServerOptions): Promise<RunningServer> {
  const { logger = silentLogger, host = '127.0.0.1', port = 3000, overrideGlobalObjects } = options
  let listener: Listener | undefined
  let metricsListener: Listener | undefined
  const { publicUrl: base } = options
  const publicUrl = () => (typeof base === 'function' ? listener && base(listener.url) : base)
  const metrics = await metricsOf(options, logger)
  const outages = new OutageLog(logger, logTelemetry(logger))
  const telemetry = combined(options.telemetry ?? outages, metrics?.telemetry)
  const traces = await tracesOf(options, logger)
  const own = {
    telemetry,
    tracing: traces?.tracing ?? options.tracing,
    programLog: options.programLog ?? logProgram(logger),
    webhookThread: hasWebhookThread(options),
  }
  const wiring = await wire(
    {
      ...options,
      ...own,
      environment: process.env,
      agents: { ...builtInAgents, ...options.agents },
    },
    publicUrl,
  )
  metrics?.follow(wiring.service)
  outages.watch({
    clock: wiring.platform.clock,
    isUp: () =>
      wiring.service.host.ping().then(
        () => true,
        () => false,
      ),
  })
  try {
    if (options.bootstrapApiKey !== undefined)
      await bootstrap(wiring, options.bootstrapApiKey, logger)
    // Before the workers start, so that a second server on the same port takes no work and fails.
    const look = lookOf(options.portal ?? {})
    const pages = await consoleOf(wiring, options, logger, { publicUrl, look })
    listener = await openListener({
      host,
      port,
      portSetting: waysToSet('PORT'),
      overrideGlobalObjects,
      fetch: await handler(wiring, options, logger, metrics, { pages, publicUrl, look }),
    })
    metricsListener = await openMetricsListener(
      { host, port: options.metricsPort },
      wiring.service,
      metrics,
    )
    if (options.worker ?? true) await wiring.service.start()
    // Not earlier: V8 refuses the compiled code of Node's modules when a flag has changed.
    if (overrideGlobalObjects) setFlagsFromString('--no-allocation-site-pretenuring')
    return running(wiring, listener, metricsListener, { pages, outages, traces, metrics })
  } catch (error) {
    await metricsListener?.close(0)
    await listener?.close(0)
    outages.stop()
    await metrics?.close()
    await wiring.close()
    await traces?.close()
    throw error
  }
}

/** A thread needs a second processor to be useful, and supports only the system clock. */
const hasWebhookThread = ({ webhookThread, worker = true, clock }: ServerOptions) =>
  webhookThread ?? (worker && clock === undefined && availableParallelism() > 1)

type Besides = {
  readonly pages: Console | undefined
  readonly outages: OutageLog
  readonly traces: TraceExport | undefined
  readonly metrics: Metrics | undefined
}

function running(
  { service, storage, close }: Wiring,
  listener: Listener,
  metricsListener: Listener | undefined,
  { pages, outages, traces, metrics }: Besides,
): RunningServer {
  let stopped: Promise<void> | undefined
  async function stop(graceMs: number) {
    await Promise.all([listener.close(graceMs), service.stop({ graceMs })])
    await metricsListener?.close(0)
    outages.stop()
    await metrics?.close()
    await close()
    await traces?.close()
  }
  return {
    url: listener.url,
    ...(metricsListener && { metricsUrl: `${metricsListener.url}/metrics` }),
    signInUrl: (key) => pages && listener.url + pages.signInPath(key),
    service,
    storage,
    stop: ({ graceMs = GRACE_MS } = {}) => (stopped ??= stop(graceMs)),
  }
}

async function bootstrap(
  { platform, storage, service }: Wiring,
  key: string,
  logger: Logger,
): Promise<void> {
  const project = await ensureDefaultProject({ storage, ...platform })
  const { isValid, earlier } = await ensureKey(service, project.id, key)
  if (!isValid) {
    logger.warn(
      { projectId: project.id },
      'the bootstrap API key is revoked or belongs to another project, so it is invalid for "default"',
    )
  }
  for (const keyId of earlier)
    logger.warn(
      { keyId },
      'an earlier bootstrap API key is still valid; revoke it with `keys revoke`',
    )
}

/** Loads the packages of the metrics only if they are read or exported. */
async function metricsOf(
  { metricsToken, metricsPort, openMetrics = false, exportsMetrics = false }: ServerOptions,
  logger: Logger,
): Promise<Metrics | undefined> {
  const isRead = openMetrics || metricsToken !== undefined || metricsPort !== undefined
  if (!isRead && !exportsMetrics) return undefined
  const { createMetrics } = await import('./telemetry/metrics.js')
  if (!exportsMetrics) return createMetrics()
  const { exportMetrics } = await import('./telemetry/otlp-metrics.js')
  const onFailure = (reason: string) => logger.warn({ reason }, 'metrics were not exported')
  return createMetrics(exportMetrics(onFailure))
}

/** Loads the packages of the export only if it is on. */
async function tracesOf(
  { exportsTraces = false }: ServerOptions,
  logger: Logger,
): Promise<TraceExport | undefined> {
  if (!exportsTraces) return undefined
  const { exportTraces } = await import('./telemetry/otlp-traces.js')
  return exportTraces((reason) => logger.warn({ reason }, 'spans were not exported'))
}

function combined(first: Telemetry, second: Telemetry | undefined): Telemetry {
  if (!second) return first
  return {
    record: (fact) => {
      first.record(fact)
      second.record(fact)
    },
  }
}

async function consoleOf(
  { service, platform }: Wiring,
  options: ServerOptions,
  logger: Logger,
  { publicUrl, look }: { publicUrl: () => string | undefined; look: PortalLook },
): Promise<Console | undefined> {
  if (options.console === undefined || options.console === 'off') return undefined
  const { createConsole } = await import('@org/agent-messaging-console')
  const onError = (error: unknown) => logger.error({ err: error }, 'a console page failed')
  return createConsole({
    service,
    crypto: platform.crypto,
    publicUrl,
    catcher: options.console === 'dev',
    operatorKey: options.operatorKey,
    portal: {
      look,
      frameOrigins: options.portal?.frameOrigins ?? [],
      events: options.portal?.events,
    },
    onError,
  })
}

async function handler(
  { service, platform }: Wiring,
  options: ServerOptions,
  logger: Logger,
  metrics: Metrics | undefined,
  {
    pages,
    publicUrl,
    look,
  }: { pages: Console | undefined; publicUrl: () => string | undefined; look: PortalLook },
) {
  const { cronSecret, cronBudgetMs, metricsToken, openMetrics = false } = options
  const isOpen = openMetrics || metricsToken !== undefined
  const newId = () => platform.ids.next()
  const onError = (error: unknown, requestId: string) =>
    logger.error({ err: error, requestId }, 'a request failed')
  const onRequest = (facts: RequestFacts) => {
    logger.debug(facts, 'request')
    metrics?.onRequest(facts)
  }
  const { crypto } = platform
  const common = { service, crypto, onError, onRequest }
  const endpointOf = await openEndpoints(options.endpoints ?? [], {
    ...common,
    newId,
    publicUrl,
    corsOrigins: options.corsOrigins,
  })
  const app = createHttpApp({
    ...common,
    newRequestId: newId,
    cronSecret,
    operatorKey: options.operatorKey,
    portal: pages && portalPages(options.portal ?? {}, publicUrl),
    look,
    cronBudgetMs,
    metrics:
      metrics && isOpen ? { read: () => metrics.read(service), token: metricsToken } : undefined,
  })
  const throttle = new CredentialThrottle({
    trustedProxies: options.trustedProxies,
    isGuarded: (path) =>
      path.startsWith('/v1/') ||
      path.startsWith('/api/cron/') ||
      endpointOf(path) !== undefined ||
      (path === '/metrics' && metricsToken !== undefined),
    isValidKey: async (key) => {
      const { authenticate, authenticateToken } = service.host
      const found = isSessionToken(key) ? authenticateToken({ token: key }) : authenticate({ key })
      // A platform key is valid, also where it needs a project.
      const isValid = await found.catch(
        (thrown) => errorIn(thrown).kind === 'project_required' || unless('unauthorized')(thrown),
      )
      return isValid !== undefined
    },
    isRunToken: service.host.isRunToken,
    onLocked: (address) => logger.warn({ address }, 'an address sent too many wrong credentials'),
    onUntrustedProxy: () => logger.warn({}, UNTRUSTED_PROXY),
    clock: platform.clock,
  })
  const answer = throttle.wrap((request, bindings, path) => {
    // A browser at the address that `dev` prints shows the console.
    if (path === '/' && request.method === 'GET' && options.console === 'dev')
      return new Response(null, TO_CONSOLE)
    // The app answers 404 to such a path, of an endpoint and of the console too.
    if (path.includes('\0')) return app.fetch(request, bindings)
    if (pages && isConsolePath(path)) return pages.fetch(request)
    return (endpointOf(path) ?? app).fetch(request, bindings)
  })
  return options.corsOrigins ? withCors(answer, { origins: options.corsOrigins }) : answer
}

const UNTRUSTED_PROXY =
  'a request has X-Forwarded-For, but SERVICE_TRUSTED_PROXIES is empty: all callers of that proxy ' +
  'count as one address, and their wrong credentials together'

const TO_CONSOLE = { status: 302, headers: { location: '/console' } }
