import { availableParallelism } from 'node:os'
import type { MessagingService } from '@org/agent-messaging-core'
import type { Storage } from '@org/agent-messaging-core/storage'
import type { Telemetry } from '@org/agent-messaging-core/runtime'
import { createConsole, isConsolePath, type Console } from '@org/agent-messaging-console'
import { createHttpApp } from '@org/agent-messaging-http'
import { ensureDefaultProject, ensureKey } from './bootstrap.js'
import { openListener, type Bindings, type Listener } from './http-listener.js'
import { logProgram, logTelemetry, silentLogger, type Logger } from './logging.js'
import { createMetrics, type Metrics } from './metrics.js'
import { openMetricsListener } from './metrics-listener.js'
import { wire, type Wiring, type WiringOptions } from './wiring.js'

export type ServerOptions = WiringOptions & {
  /** 3000 unless given; 0 takes any free one. */
  readonly port?: number | undefined
  /** 127.0.0.1 unless given. */
  readonly host?: string | undefined
  /** For a process that is nothing but this server; see the listener. */
  readonly overrideGlobalObjects?: boolean | undefined
  /** Where others reach this server, or what makes that of where it listens. Runtimes that answer later are told it. */
  readonly publicUrl?: string | ((ownUrl: string) => string) | undefined
  /** Opens `/api/cron/webhooks`; without it that route is closed. */
  readonly cronSecret?: string | undefined
  /** How long one call of that route may take: 10 s unless given. */
  readonly cronBudgetMs?: number | undefined
  /** Opens `/metrics` to who sends this as a bearer token; `openMetrics` opens it to everybody. Without either it is not there. */
  readonly metricsToken?: string | undefined
  readonly openMetrics?: boolean | undefined
  /** A port of its own for `/metrics`, open to everybody who reaches it; 0 takes any free one. */
  readonly metricsPort?: number | undefined
  /** The pages for operators at `/console`: `on`, or `dev` with a receiver of webhooks to try things out with. Without they are not there. */
  readonly console?: 'on' | 'off' | 'dev' | undefined
  /** A key with all permissions for the project `default`; both are made if they are missing. */
  readonly bootstrapApiKey?: string | undefined
  /** `false`: no timers; work is done by the cron route and `service.tick` alone. */
  readonly worker?: boolean | undefined
  /** Silent unless given. Facts and what programs print go to it too, unless there is `telemetry` or `programLog`. */
  readonly logger?: Logger | undefined
}

export type RunningServer = {
  /** Such as `http://127.0.0.1:3000`. */
  readonly url: string
  /** Of the port for metrics, if there is one. */
  readonly metricsUrl?: string
  /** An address that signs in to the console with this key, once and within 15 minutes; undefined without a console. */
  signInUrl(key: string): string | undefined
  readonly service: MessagingService
  readonly storage: Storage
  /**
   * Ends in order, within `graceMs` (8 s unless given): waiting callers get their 202 at once, runs under way may finish, then
   * connections are cut and the storage is closed. What is left undone is done after the next start.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

const GRACE_MS = 8_000

/** The whole server in this process. Rejects with an `OperatorError` that says in a line why it cannot start. */
export async function createServer(options: ServerOptions): Promise<RunningServer> {
  const { logger = silentLogger, host = '127.0.0.1', port = 3000, overrideGlobalObjects } = options
  let listener: Listener | undefined
  let metricsListener: Listener | undefined
  const { publicUrl: base } = options
  const publicUrl = () => (typeof base === 'function' ? listener && base(listener.url) : base)
  const metrics = isMeasured(options) ? createMetrics() : undefined
  const telemetry = tellBoth(options.telemetry ?? logTelemetry(logger), metrics?.telemetry)
  const own = {
    telemetry,
    programLog: options.programLog ?? logProgram(logger),
    webhookThread: hasWebhookThread(options),
  }
  const wiring = await wire({ ...options, ...own }, publicUrl)
  try {
    if (options.bootstrapApiKey !== undefined)
      await bootstrap(wiring, options.bootstrapApiKey, logger)
    // Before the workers start: a second server by mistake fails here, and has taken nothing from the first.
    const pages = consoleOf(wiring, options, logger, publicUrl)
    listener = await openListener({
      ...{ host, port, overrideGlobalObjects },
      fetch: handler(wiring, options, logger, metrics, pages),
    })
    metricsListener = await openMetricsListener(
      { host, port: options.metricsPort },
      wiring.service,
      metrics,
    )
    if (options.worker ?? true) await wiring.service.start()
    return running(wiring, listener, metricsListener, pages)
  } catch (error) {
    await metricsListener?.close(0)
    await listener?.close(0)
    await wiring.close()
    throw error
  }
}

/** A thread pays where there is a second processor for it, and it knows no clock but the machine's. */
const hasWebhookThread = ({ webhookThread, worker = true, clock }: ServerOptions): boolean =>
  webhookThread ?? (worker && clock === undefined && availableParallelism() > 1)

function running(
  { service, storage, close }: Wiring,
  listener: Listener,
  metrics: Listener | undefined,
  pages: Console | undefined,
): RunningServer {
  let stopped: Promise<void> | undefined
  async function stop(graceMs: number): Promise<void> {
    await Promise.all([listener.close(graceMs), service.stop({ graceMs })])
    await metrics?.close(0)
    await close()
  }
  return {
    url: listener.url,
    ...(metrics && { metricsUrl: `${metrics.url}/metrics` }),
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
  const { state, earlier } = await ensureKey(service, project.id, key)
  if (state === 'refused') {
    logger.warn(
      { projectId: project.id },
      'the bootstrap API key exists, but is revoked or of another project: it opens nothing in "default"',
    )
  }
  for (const keyId of earlier)
    logger.warn(
      { keyId },
      'a bootstrap API key of an earlier start is still good: `keys revoke` ends it',
    )
}

const isMeasured = ({ metricsToken, metricsPort, openMetrics = false }: ServerOptions): boolean =>
  openMetrics || metricsToken !== undefined || metricsPort !== undefined

function tellBoth(one: Telemetry, other: Telemetry | undefined): Telemetry {
  if (!other) return one
  return {
    record: (fact) => {
      one.record(fact)
      other.record(fact)
    },
  }
}

function consoleOf(
  { service, platform }: Wiring,
  options: ServerOptions,
  logger: Logger,
  publicUrl: () => string | undefined,
): Console | undefined {
  if (options.console === undefined || options.console === 'off') return undefined
  const onError = (error: unknown): void =>
    logger.error({ err: error }, 'a page of the console failed')
  return createConsole({
    service,
    crypto: platform.crypto,
    publicUrl,
    catcher: options.console === 'dev',
    onError,
  })
}

function handler(
  { service, platform }: Wiring,
  options: ServerOptions,
  logger: Logger,
  metrics: Metrics | undefined,
  pages: Console | undefined,
) {
  const { cronSecret, cronBudgetMs, metricsToken, openMetrics = false } = options
  const isOpen = openMetrics || metricsToken !== undefined
  const app = createHttpApp({
    service,
    crypto: platform.crypto,
    newRequestId: () => platform.ids.next(),
    ...{ cronSecret, cronBudgetMs },
    metrics:
      metrics && isOpen ? { read: () => metrics.read(service), token: metricsToken } : undefined,
    onError: (error, requestId) => logger.error({ err: error, requestId }, 'a request failed'),
    onRequest: (facts) => {
      logger.debug(facts, 'request')
      metrics?.onRequest(facts)
    },
  })
  return (request: Request, bindings: Bindings) => {
    const { pathname } = new URL(request.url)
    // Whoever opens the address that `dev` prints is shown something.
    if (pathname === '/' && request.method === 'GET' && options.console === 'dev')
      return new Response(null, TO_CONSOLE)
    return pages && isConsolePath(pathname) ? pages.fetch(request) : app.fetch(request, bindings)
  }
}

const TO_CONSOLE = { status: 302, headers: { location: '/console' } }
