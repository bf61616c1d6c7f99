import { failure, success, type PortResult } from '@org/agent-messaging-core/runtime'
import { hostOf, type AddressGuard } from './address-guard.js'
import { dialer, allowedAddresses, type Dial } from './dial.js'
import { ABORTED, Exchange, type HttpRequest } from './exchange.js'
import { Fault, unreachable, type Unreachable } from './fault.js'
import { proxyTunnel } from './proxy.js'
import { hostResolver } from './resolve-host.js'
import { CollectedResponse, type HttpOutcome, type ResponseHandler } from './response.js'
import {
  collectedOrStreamed,
  StreamedResponse,
  type HttpStream,
  type StreamRequest,
} from './models/streamed-response.js'
import { Connection } from './connection.js'

/**
 * Sends all outgoing requests. The guard checks every address at the dial. Redirects are returned,
 * never followed.
 */
export type OutboundHttp = {
  /** Sends a request. Never rejects and never exceeds the request's deadline. */
  send(request: HttpRequest): Promise<HttpOutcome>
  /** Like `send`, but settles with the head of the response. The server waits for a slow reader. */
  stream(request: StreamRequest): Promise<HttpStream | Unreachable>
  /** Like `stream` for a 200 of type `text/event-stream`, and like `send` for another response. */
  sendOrStream(request: StreamRequest): Promise<HttpOutcome | HttpStream>
  /**
   * Checks whether requests can go to `url`. The error continues a sentence that starts with the
   * field's name. An unresolvable name is accepted, because every dial checks again.
   */
  vet(url: string): Promise<PortResult<void, string>>
  /** Closes every connection. Running and later requests end as `interrupted`. */
  close(): Promise<void>
}

export type OutboundOptions = {
  readonly guard: AddressGuard
  /**
   * Connections to one origin. More requests wait, and their deadlines run. Unlimited by default:
   * deliveries and the `concurrency` of agents have limits, and a lower one would let an agent's
   * long requests block other agents on the same host.
   */
  readonly connectionsPerOrigin?: number
  /** How many origins keep idle connections. */
  readonly maxOrigins?: number
  /** Covers DNS, TCP and TLS of one connection. */
  readonly connectTimeoutMs?: number
  /** Name servers to use instead of the system's, such as `10.0.0.2` or `127.0.0.1:5353`. */
  readonly dnsServers?: readonly string[]
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string | readonly string[]
  /**
   * A forward proxy for all requests, such as `http://user:password@proxy.internal:3128`. It gets
   * CONNECT with an address that the guard allowed. The guard does not check its own address.
   */
  readonly proxy?: string
}

const VET_TIMEOUT_MS = 5_000
const STOPPING = unreachable('interrupted', 'the service is stopping')
const USER_AGENT = 'agent-messaging'

export function outboundHttp(options: OutboundOptions): OutboundHttp {
  const {
    guard,
    connectionsPerOrigin = Infinity,
    maxOrigins = 1_000,
    connectTimeoutMs: timeoutMs = 10_000,
    ca,
  } = options
  const resolve = hostResolver({ ...(options.dnsServers && { servers: options.dnsServers }) })
  const dial = dialer({
    guard,
    resolve,
    timeoutMs,
    ...(ca !== undefined && { ca }),
    ...(options.proxy !== undefined && { tunnel: proxyTunnel(options.proxy) }),
  })
  const origins = new OriginPools(dial, { connectionsPerOrigin, maxOrigins })
  let isClosed = false

  function begin(request: HttpRequest, handler: ResponseHandler) {
    if (isClosed) return handler.fail(STOPPING)
    if (request.signal?.aborted) return handler.fail(ABORTED)
    const checked = guard.checkUrl(request.url)
    if (!checked.ok) return handler.fail(unreachable('address_blocked', `the URL ${checked.error}`))
    const { origin, pathname, search } = checked.value
    const pool = origins.use(origin)
    const identified = { ...request, headers: { 'user-agent': USER_AGENT, ...request.headers } }
    pool.start(
      new Exchange(identified, pathname + search, handler, (exchange, isComplete) =>
        pool.ended(exchange, isComplete),
      ),
    )
  }

  async function vet(text: string): Promise<PortResult<void, string>> {
    const checked = guard.checkUrl(text)
    if (!checked.ok) return checked
    try {
      await allowedAddresses(
        { guard, resolve },
        hostOf(checked.value),
        AbortSignal.timeout(VET_TIMEOUT_MS),
      )
      return success(undefined)
    } catch (error) {
      const isBlocked = error instanceof Fault && error.outcome.error === 'address_blocked'
      return isBlocked
        ? failure(
            'must not resolve to a private or reserved address that this service does not allow',
          )
        : success(undefined)
    }
  }

  async function close() {
    isClosed = true
    await origins.close(STOPPING)
  }

  return {
    send: (request) =>
      new Promise((settle) => begin(request, new CollectedResponse(request.maxBodyBytes, settle))),
    stream: (request) =>
      new Promise((settle) => begin(request, new StreamedResponse(request, settle))),
    sendOrStream: (request) =>
      new Promise((settle) => begin(request, collectedOrStreamed(request, settle))),
    vet,
    close,
  }
}

type OriginLimits = { readonly connectionsPerOrigin: number; readonly maxOrigins: number }

const UNUSED = unreachable('reset', 'the connection was not used any more')

/**
 * One pool of connections per origin. A new origin beyond `maxOrigins` closes an idle pool
 * that was unused for long.
 */
class OriginPools {
  readonly #dial: Dial
  readonly #limits: OriginLimits
  /** Pools that were unused for long come first. */
  readonly #pools = new Map<string, OriginPool>()

  constructor(dial: Dial, limits: OriginLimits) {
    this.#dial = dial
    this.#limits = limits
  }

  /** Returns the pool of `origin`. If many are open, it becomes the most recently used one. */
  use(origin: string): OriginPool {
    const pool = this.#pools.get(origin) ?? this.#open(origin)
    // The order counts only when many are open. Each change of the order copies a table.
    if (this.#pools.size > this.#limits.maxOrigins / 2) this.#pools.delete(origin)
    if (!this.#pools.has(origin)) this.#pools.set(origin, pool)
    return pool
  }

  async close(outcome: Unreachable): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close(outcome)))
  }

  #open(origin: string) {
    for (const [unused, pool] of this.#pools) {
      if (this.#pools.size < this.#limits.maxOrigins) break
      if (!pool.isIdle) continue
      this.#pools.delete(unused)
      void pool.close(UNUSED)
    }
    return new OriginPool(origin, this.#dial, this.#limits.connectionsPerOrigin)
  }
}

/** The connections to one origin, at most `limit`, and the requests that use or wait for one. */
class OriginPool {
  readonly #origin: string
  readonly #dial: Dial
  readonly #limit: number
  readonly #idle: Connection[] = []
  readonly #busy = new Set<Connection>()
  readonly #waiting = new Set<Exchange>()

  constructor(origin: string, dial: Dial, limit: number) {
    this.#origin = origin
    this.#dial = dial
    this.#limit = limit
  }

  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  start(exchange: Exchange): void {
    // The most recently used connection comes first, so that surplus ones time out.
    const connection = this.#idle.pop() ?? this.#connect()
    if (!connection) return void this.#waiting.add(exchange)
    this.#busy.add(connection)
    exchange.connection = connection
    connection.send(exchange)
  }

  /** Frees the connection of a settled exchange. Only a complete response leaves it reusable. */
  ended(exchange: Exchange, isComplete: boolean): void {
    const { connection } = exchange
    if (!connection) return void this.#waiting.delete(exchange)
    this.#busy.delete(connection)
    if (isComplete) this.#idle.push(connection)
    else void connection.destroy()
    const [next] = this.#waiting
    if (next && this.#waiting.delete(next)) this.start(next)
  }

  /** Ends every request with `outcome` and closes all connections. */
  async close(outcome: Unreachable): Promise<void> {
    const busy = [...this.#busy]
    const connections = [...this.#idle.splice(0), ...busy]
    for (const exchange of this.#waiting) exchange.abort(outcome)
    for (const connection of busy) connection.abort(outcome)
    await Promise.all(connections.map((connection) => connection.destroy()))
  }

  #connect() {
    if (this.#busy.size >= this.#limit) return undefined
    return new Connection(this.#origin, this.#dial, (lost) => this.#drop(lost))
  }

  #drop(lost: Connection) {
    const at = this.#idle.indexOf(lost)
    if (at < 0) return
    this.#idle.splice(at, 1)
    void lost.destroy()
  }
}
