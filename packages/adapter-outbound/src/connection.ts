import { Client, type Dispatcher } from './undici.js'
import type { Dial } from './dial.js'
import { Fault, type Unreachable } from './fault.js'
import type { Socket } from 'node:net'

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

const HEAD_END = '\r\n\r\n'
/** `HTTP/1.1 100` */
const STATUS_LINE_LENGTH = 12
const INTERIM = /^HTTP\/1\.\d 1\d\d/

const EARLY_HINTS = Buffer.from(`HTTP/1.1 103 Early Hints${HEAD_END}`)

/**
 * Shows undici each `100 Continue` as `103 Early Hints`. undici treats a 100 as an error because it
 * never asks for one, but some proxies and servers send it unasked (RFC 9110 §15.2).
 *
 * undici takes bytes only from `socket.read`. The filter holds an interim head back until it is
 * complete, and passes on everything from the final head on.
 */
class InterimFilter {
  readonly #maxHeadBytes: number
  #state: 'interim' | 'final' = 'interim'
  /** The beginning of a head. */
  #held: Buffer | undefined

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes
  }

  /** A request begins, and with it the heads of its response. */
  expectResponse(): void {
    this.#state = 'interim'
  }

  /** Filters what the socket's reader gets. */
  filter(socket: Socket): void {
    this.#held = undefined
    const read = socket.read.bind(socket)
    socket.read = (size?: number) => {
      if (size !== undefined) return read(size) as unknown
      for (;;) {
        const chunk = read() as Buffer | null
        const passed = chunk && this.#pass(chunk)
        // The reader stops at null, so it gets null only if the socket has no more bytes.
        if (!passed || passed.length > 0) return passed
      }
    }
  }

  /** Returns the bytes that are ready. */
  #pass(chunk: Buffer): Buffer {
    if (this.#state === 'final') return chunk
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    this.#held = undefined
    const ready: Buffer[] = []
    let rest = bytes
    for (let end = interimEnd(rest); end > 0; end = interimEnd(rest)) {
      ready.push(statusLine(rest).endsWith('100') ? EARLY_HINTS : rest.subarray(0, end))
      rest = rest.subarray(end)
    }
    if (canBeInterim(rest) && rest.length < this.#maxHeadBytes) this.#held = rest
    else {
      this.#state = 'final'
      ready.push(rest)
    }
    return ready.length === 1 && ready[0] ? ready[0] : Buffer.concat(ready)
  }
}

/** Returns the end of a complete interim head at the beginning of the bytes, or 0. */
function interimEnd(bytes: Buffer) {
  if (!INTERIM.test(statusLine(bytes))) return 0
  const end = bytes.indexOf(HEAD_END)
  return end < 0 ? 0 : end + HEAD_END.length
}

/** True for the beginning of an interim head, and for fewer bytes than a status line has. */
const canBeInterim = (bytes: Buffer) =>
  INTERIM.test(statusLine(bytes).concat('HTTP/1.1 100'.slice(bytes.length)))

const statusLine = (bytes: Buffer) => bytes.toString('latin1', 0, STATUS_LINE_LENGTH)
