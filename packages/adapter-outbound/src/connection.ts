import { Client, type Dispatcher } from './undici.js'
import type { Dial } from './dial.js'
import { Fault, type Unreachable } from './fault.js'
import { InterimFilter } from './interim-filter.js'

const MAX_HEAD_BYTES = 16 * 1024
/** Less than common servers allow, so that requests rarely meet a connection that is closing. */
const IDLE_MS = 4_000
/** The limit for servers whose Keep-Alive header promises more. */
const MAX_IDLE_MS = 60_000
const CLOSED = new Fault('connect', 'the connection was closed')

/** A request that a connection carries. */
export type Carried = Dispatcher.DispatchHandler & {
  readonly dispatched: Dispatcher.DispatchOptions
  abort(outcome: Unreachable): void
}

/**
 * One connection to one origin, for one request at a time. The connection dials when a request
 * needs a socket, and again after the socket ended.
 *
 * undici's `Pool` is not usable: the pool dials although an idle connection exists.
 */
export class Connection {
  readonly #client: Client
  readonly #dialing = new AbortController()
  readonly #interim = new InterimFilter(MAX_HEAD_BYTES)
  #exchange: Carried | undefined

  /** Calls `onLost` whenever the socket ends. */
  constructor(origin: string, dial: Dial, onLost: (connection: Connection) => void) {
    this.#client = new Client(origin, {
      connect: (options, callback) => {
        dial(options, this.#dialing.signal).then(
          (socket) => {
            socket.once('error', renameReset)
            this.#interim.filter(socket)
            callback(null, socket)
          },
          (error: Error) => callback(error, null),
        )
      },
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      // The deadline of the exchange covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#client.on('disconnect', () => onLost(this))
  }

  send(exchange: Carried): void {
    this.#exchange = exchange
    this.#interim.expectResponse()
    this.#client.dispatch(exchange.dispatched, exchange)
  }

  /** Ends the request with `outcome`. */
  abort(outcome: Unreachable): void {
    this.#exchange?.abort(outcome)
  }

  /** Ends the dial, the request and the socket. */
  destroy(): Promise<void> {
    this.#dialing.abort(CLOSED)
    return this.#client.destroy(CLOSED)
  }
}

/**
 * undici reads ECONNRESET as the end of a response without a length, so a broken response would
 * pass for a complete one.
 */
function renameReset(error: NodeJS.ErrnoException) {
  if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED'
}
