import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { OperatorError } from './operator-error.js'
import { ownUrl } from './own-url.js'

export type Listener = {
  /** Where it listens, with the port that it got. */
  readonly url: string
  /** Takes no more connections; resolves when every request has its answer, or at the end of the grace with the rest cut off. */
  close(graceMs: number): Promise<void>
}

/** For Hono's `fetch`: its handlers look there for the connection. */
export type Bindings = { readonly incoming: Pick<IncomingMessage, 'socket'> }

export type ListenerOptions = {
  readonly host: string
  readonly port: number
  /** The setting that `port` comes from, for the operator. */
  readonly portVariable?: string
  readonly fetch: (request: Request, bindings: Bindings) => Response | Promise<Response>
  readonly limits?: Partial<typeof LIMITS>
  /**
   * Lets node-server replace this process's global Request and Response by ones that it writes without a stream between, which
   * saves some 35 µs a request. Only for a process that is nothing but this server: it changes them for everybody.
   */
  readonly overrideGlobalObjects?: boolean | undefined
}

/** Bounds on peers that dribble. A request's own time counts until its body is here; waiting for its answer is not limited. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s after which load balancers commonly let go of an idle connection: they must be first.
  keepAliveTimeout: 65_000,
  // Of a connection with nothing in either direction, such as one whose peer does not read its answer. Callers may wait for 10 min.
  stalledTimeout: 660_000,
  maxHeaderSize: 16 * 1024,
  // How often the bounds are looked at: Node's 30 s would make 10 s mean 40.
  connectionsCheckingInterval: 1_000,
}
const SWEEP_MS = 100

export async function openListener({
  host,
  port,
  portVariable = 'PORT',
  fetch,
  limits,
  overrideGlobalObjects = false,
}: ListenerOptions): Promise<Listener> {
  // The name is for requests of HTTP/1.0 that have none. An address of IPv6 would make no URL.
  const handle = getRequestListener(fetch, {
    overrideGlobalObjects,
    hostname: 'localhost',
    errorHandler: unreadable,
  })
  const inFlight = new Set<ServerResponse>()
  let closing = false
  const { stalledTimeout, ...bounds } = { ...LIMITS, ...limits }
  const server = createServer(bounds, (request, response) => {
    inFlight.add(response.on('close', ended))
    if (closing) response.shouldKeepAlive = false
    void handle(request, response)
  })
  function ended(this: ServerResponse): void {
    inFlight.delete(this)
    // A body that was refused in the middle is paused for good, and the next request on this connection comes behind it.
    if (!this.req.readableEnded) this.req.removeAllListeners('data').resume()
  }
  server.timeout = stalledTimeout
  await bind(server, host, port, portVariable)

  async function close(graceMs: number): Promise<void> {
    closing = true
    // Or its caller would send the next request on a connection that is closed in this moment.
    for (const response of inFlight) response.shouldKeepAlive = false
    const closed = once(server, 'close')
    server.close()
    for (
      const end = Date.now() + graceMs;
      inFlight.size > 0 && Date.now() < end;
      await delay(SWEEP_MS)
    )
      server.closeIdleConnections()
    // Also those that never sent a request: Node does not count them as idle.
    server.closeAllConnections()
    await closed
  }

  return { url: ownUrl(host, (server.address() as AddressInfo).port), close }
}

/** For what cannot even be made a Request of; in the words of the API. */
function unreadable(): Response {
  const requestId = randomUUID()
  return Response.json(
    {
      error: { code: 'BAD_REQUEST', message: 'the path or the Host header is not valid' },
      requestId,
    },
    { status: 400, headers: { 'Cache-Control': 'no-store', 'X-Request-Id': requestId } },
  )
}

async function bind(server: Server, host: string, port: number, variable: string): Promise<void> {
  server.listen({ host, port })
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new OperatorError(bindProblem(error as NodeJS.ErrnoException, host, port, variable))
  }
}

function bindProblem(
  { code, message }: NodeJS.ErrnoException,
  host: string,
  port: number,
  variable: string,
): string {
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use; set ${variable} to another (0: any free one)`
  if (code === 'EACCES')
    return `this user may not listen on port ${port}; set ${variable} to one from 1024`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST is ${host}, which is no address of this machine`
  return `cannot listen on ${host}, port ${port}: ${message}`
}
