import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { ShortLivedMap } from '@org/agent-messaging-core/runtime'
import { badRequest } from '@org/agent-messaging-node/wiring'
import { OperatorError } from '../operator-error.js'
import { ownUrl } from '../urls.js'

export type Listener = {
  /** Contains the actual port. */
  readonly url: string
  /**
   * Accepts the connections that wait, then no more. Waits up to `graceMs` for the responses of
   * current requests, then closes all connections.
   */
  close(graceMs: number): Promise<void>
}

/** Hono's handlers use this to find the connection of a request. */
export type Bindings = { readonly incoming: Pick<IncomingMessage, 'socket' | 'headers'> }

export type ListenerOptions = {
  readonly host: string
  readonly port: number
  /** The names of the setting of `port`, for error messages. */
  readonly portSetting?: string
  readonly fetch: (request: Request, bindings: Bindings) => Response | Promise<Response>
  readonly limits?: Partial<typeof LIMITS>
  /**
   * Lets node-server replace the global Request and Response by faster ones (about 35 µs less per
   * request). Use it only in a process that runs nothing but this server.
   */
  readonly overrideGlobalObjects?: boolean | undefined
}

/** Limits for slow peers. The time of a request ends when its body has arrived. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s of common load balancers, which must close an idle connection first.
  keepAliveTimeout: 65_000,
  // Closes a connection without traffic in either direction. Callers can wait 10 min for an answer.
  stalledTimeout: 660_000,
  maxHeaderSize: 16 * 1024,
  // How often Node checks the limits. Its default of 30 s would turn 10 s into up to 40 s.
  connectionsCheckingInterval: 1_000,
}
const SWEEP_MS = 100
/** Connections that can wait to be accepted, if the system allows it. Node's default is 511. */
const BACKLOG = 4_096
/** How long a stop goes on accepting connections that arrived before it. */
const LAST_ACCEPTS_MS = 1_000
/** How long a stop waits for the first request of a connection. The request has usually arrived. */
const FIRST_REQUEST_MS = 250

export async function openListener({
  host,
  port,
  portSetting = 'PORT',
  fetch,
  limits,
  overrideGlobalObjects = false,
}: ListenerOptions): Promise<Listener> {
  // `hostname` is for HTTP/1.0 requests without a Host header. An IPv6 host would break their URL.
  const handle = getRequestListener(fetch, {
    overrideGlobalObjects,
    hostname: 'localhost',
    errorHandler: badRequest,
  })
  /** By the number of the request. */
  const inFlight = new ShortLivedMap<number, ServerResponse>()
  let requests = 0
  /** Connections without a request yet. */
  const unused = new Set<Socket>()
  const intake = new Intake()
  let closing = false
  const { stalledTimeout, ...bounds } = { ...LIMITS, ...limits }
  const server = createServer(bounds, (request, response) => {
    const number = ++requests
    inFlight.set(number, response)
    response.on('close', () => ended(number, request))
    unused.delete(request.socket)
    if (closing) response.shouldKeepAlive = false
    intake.add(() => void (response.destroyed || handle(request, response)))
  })
  server.on('connection', (socket) => {
    intake.connectionAccepted()
    unused.add(socket.once('close', () => unused.delete(socket)))
  })
  function ended(number: number, request: IncomingMessage) {
    inFlight.delete(number)
    // Reads the rest of a rejected body, because the next request follows it on the connection.
    if (!request.readableEnded) request.removeAllListeners('data').resume()
  }
  server.timeout = stalledTimeout
  await bind(server, host, port, portSetting)

  async function close(graceMs: number) {
    closing = true
    const startedAt = performance.now()
    const isWithin = (ms: number) => performance.now() < startedAt + ms
    // Tells each caller not to reuse a connection that is about to close.
    for (const response of inFlight.values()) response.shouldKeepAlive = false
    await intake.allAccepted(Math.min(graceMs, LAST_ACCEPTS_MS))
    const closed = once(server, 'close')
    server.close()
    const firstRequestMs = performance.now() - startedAt + FIRST_REQUEST_MS
    const isBusy = () => inFlight.size > 0 || (unused.size > 0 && isWithin(firstRequestMs))
    while (isBusy() && isWithin(graceMs)) {
      await delay(SWEEP_MS)
      server.closeIdleConnections()
    }
    // Includes connections without a request, which Node does not count as idle.
    server.closeAllConnections()
    await closed
  }

  return { url: ownUrl(host, (server.address() as AddressInfo).port), close }
}

async function bind(server: Server, host: string, port: number, setting: string) {
  server.listen({ host, port, backlog: BACKLOG })
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new OperatorError(bindProblem(error as NodeJS.ErrnoException, host, port, setting))
  }
}

function bindProblem(
  { code, message }: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting: string,
): string {
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use; choose another with ${setting} (0 picks a free port)`
  if (code === 'EACCES')
    return `this user cannot listen on port ${port}; choose 1024 or higher with ${setting}`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST must be an address of this machine; got ${host}`
  return `cannot listen on ${host}, port ${port}: ${message}`
}

/** The longest pause of the requests while connections are accepted. */
const MAX_PAUSE_MS = 250

/**
 * Starts requests, but first lets Node accept the connections that wait.
 *
 * Node accepts one connection per turn of the event loop (libuv 1.45). Under load a turn takes as
 * long as all requests that arrived in it. Without this pause, the last of 300 new connections
 * would wait for 300 such turns. While connections arrive, requests wait up to a quarter of a
 * second. So the turns are short, and the connections are soon accepted.
 */
class Intake {
  /** Requests that wait for their start, oldest first. */
  #waiting: (() => void)[] = []
  /** Connections since the start. */
  #accepted = 0
  /** The same, at the end of the last turn. Undefined if no connection arrived in that turn. */
  #acceptedBefore: number | undefined
  #pausedAt = 0

  /** Notes a new connection. */
  connectionAccepted(): void {
    this.#accepted++
    if (this.#acceptedBefore !== undefined) return
    this.#acceptedBefore = this.#accepted
    this.#pausedAt = performance.now()
    // One more turn, because the next connection can wait already.
    setImmediate(() => setImmediate(this.#endTurn))
  }

  /** Calls `start` now, or after the connections that wait. */
  add(start: () => void): void {
    if (this.#acceptedBefore === undefined) start()
    else this.#waiting.push(start)
  }

  /** Resolves when no connection waits to be accepted, or after `maxMs`. */
  async allAccepted(maxMs: number): Promise<void> {
    const end = performance.now() + maxMs
    let before = -1
    while (before !== this.#accepted && performance.now() < end) {
      before = this.#accepted
      await turn()
      await turn()
    }
  }

  readonly #endTurn = () => {
    const hasAccepted = this.#acceptedBefore !== this.#accepted
    this.#acceptedBefore = hasAccepted ? this.#accepted : undefined
    if (hasAccepted) setImmediate(this.#endTurn)
    const now = performance.now()
    if (hasAccepted && now - this.#pausedAt < MAX_PAUSE_MS) return
    for (const start of this.#waiting.splice(0)) start()
    this.#pausedAt = performance.now()
  }
}

/** Resolves after the event loop has looked for events. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
