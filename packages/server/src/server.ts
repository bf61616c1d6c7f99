import { randomUUID } from 'node:crypto'
import type { MessagingService, Storage } from '@org/agent-messaging-core'
import { createHttpApp } from '@org/agent-messaging-http'
import { ensureDefaultProject, ensureKey } from './bootstrap.js'
import { openListener, type Listener } from './http-listener.js'
import { logProgram, logTelemetry, silentLogger, type Logger } from './logging.js'
import { wire, type Wiring, type WiringOptions } from './wiring.js'

export type ServerOptions = WiringOptions & {
  /** 3000 unless given; 0 takes any free one. */
  readonly port?: number | undefined
  /** 127.0.0.1 unless given. */
  readonly host?: string | undefined
  /** Where others reach this server, or what makes that of where it listens. Runtimes that answer later are told it. */
  readonly publicUrl?: string | ((ownUrl: string) => string) | undefined
  /** Opens `/api/cron/webhooks`; without it that route is closed. */
  readonly cronSecret?: string | undefined
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
  const { logger = silentLogger, host = '127.0.0.1', port = 3000 } = options
  let listener: Listener | undefined
  const { publicUrl: base } = options
  const publicUrl = () => (typeof base === 'function' ? listener && base(listener.url) : base)
  const wiring = await wire({ ...options, ...loggingTo(logger, options) }, publicUrl)
  try {
    if (options.bootstrapApiKey !== undefined) await bootstrap(wiring, options.bootstrapApiKey, logger)
    // Before the workers start: a second server by mistake fails here, and has taken nothing from the first.
    listener = await openListener({ host, port, fetch: handler(wiring, options, logger) })
    if (options.worker ?? true) await wiring.service.start()
    return running(wiring, listener)
  } catch (error) {
    await listener?.close(0)
    await wiring.close()
    throw error
  }
}

const loggingTo = (logger: Logger, { telemetry, programLog }: ServerOptions) => ({
  telemetry: telemetry ?? logTelemetry(logger),
  programLog: programLog ?? logProgram(logger),
})

function running({ service, storage, close }: Wiring, listener: Listener): RunningServer {
  let stopped: Promise<void> | undefined
  async function stop(graceMs: number): Promise<void> {
    await Promise.all([listener.close(graceMs), service.stop({ graceMs })])
    await close()
  }
  return { url: listener.url, service, storage, stop: ({ graceMs = GRACE_MS } = {}) => (stopped ??= stop(graceMs)) }
}

async function bootstrap({ platform, storage, service }: Wiring, key: string, logger: Logger): Promise<void> {
  const project = await ensureDefaultProject({ storage, ...platform })
  if ((await ensureKey(service, project.id, key)) === 'refused') {
    logger.warn(
      { projectId: project.id },
      'the bootstrap API key exists, but is revoked or of another project: it opens nothing in "default"',
    )
  }
}

function handler({ service, platform }: Wiring, { cronSecret }: ServerOptions, logger: Logger) {
  const app = createHttpApp({
    service,
    crypto: platform.crypto,
    newRequestId: randomUUID,
    cronSecret,
    onError: (error, requestId) => logger.error({ err: error, requestId }, 'a request failed'),
    onRequest: (facts) => logger.debug(facts, 'request'),
  })
  return (request: Request) => app.fetch(request)
}
