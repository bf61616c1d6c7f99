import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from './undici.js'
import type { Connection } from './connection.js'
import { classify, unreachable, type Unreachable } from './fault.js'
import type { Flow, ResponseHandler } from './response.js'

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

export type HttpRequest = {
  readonly method: HttpMethod
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A string is sent as UTF-8. */
  readonly body?: string | Uint8Array
  /**
   * Covers the wait for a connection, DNS, connect, TLS and the whole response. Without a deadline,
   * `signal` must end the request.
   */
  readonly deadlineMs?: number
  /** Limits the response's body. Reading stops there, and the connection closes. */
  readonly maxBodyBytes: number
  readonly signal?: AbortSignal
}

/** How many interim responses (1xx) a server can send. */
const MAX_INTERIM_RESPONSES = 64

/** `isComplete`: the response was read to its end, so the connection can carry another request. */
type OnEnd = (exchange: Exchange, isComplete: boolean) => void

/** One request, from its dispatch to the end of its response. */
export class Exchange implements Dispatcher.DispatchHandler, Flow {
  /** The request in undici's form. */
  readonly dispatched: Dispatcher.DispatchOptions
  /** The connection that carries the request. Undefined while the request waits for one. */
  connection: Connection | undefined
  readonly #handler: ResponseHandler
  readonly #onEnd: OnEnd
  readonly #signal: AbortSignal | undefined
  readonly #deadline: NodeJS.Timeout | undefined
  #controller: Dispatcher.DispatchController | undefined
  /** The head of the response has arrived. */
  #hasBegun = false
  #hasEnded = false
  #interimResponses = 0

  constructor(request: HttpRequest, path: string, handler: ResponseHandler, onEnd: OnEnd) {
    const { method, headers, body = null, deadlineMs, signal } = request
    this.dispatched = { method, path, headers, body }
    this.#handler = handler
    this.#onEnd = onEnd
    this.#signal = signal
    // A plain timer: an AbortSignal.timeout costs as much as the rest of a small request.
    if (deadlineMs !== undefined) this.#deadline = setTimeout(expire, deadlineMs, this, deadlineMs)
    signal?.addEventListener('abort', this.#onAbort)
  }

  /** Ends the exchange. Its connection cannot be reused. */
  abort(reason: Unreachable): void {
    if (this.#finish(false)) this.#handler.fail(reason)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** undici recognizes its current handler interface by this method. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (statusCode >= 200) {
      this.#hasBegun = true
      if (!this.#hasEnded) this.#handler.begin({ statusCode, headers }, this)
    } else if (statusCode < 100) {
      this.abort(unreachable('protocol', 'the status of the response is below 100'))
    } else if (statusCode === 101) {
      this.abort(unreachable('protocol', 'the response switches to another protocol'))
    } else if (++this.#interimResponses > MAX_INTERIM_RESPONSES) {
      this.abort(unreachable('protocol', 'too many interim responses'))
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici delivers an empty chunk on resume. A handler that pauses on it would pause forever.
    if (!this.#hasEnded && chunk.length > 0 && !this.#handler.append(chunk)) this.#finish(false)
  }

  onResponseEnd(): void {
    if (this.#finish(true)) this.#handler.end()
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.abort(classify(error, this.#hasBegun))
  }

  readonly #onAbort = (): void => this.abort(ABORTED)

  /** Returns false if the exchange had ended before. */
  #finish(isComplete: boolean) {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    clearTimeout(this.#deadline)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#onEnd(this, isComplete)
    return true
  }
}

export const ABORTED = unreachable('timeout', 'the caller aborted the request')

const expire = (exchange: Exchange, deadlineMs: number) =>
  exchange.abort(unreachable('timeout', `no complete response within ${deadlineMs} ms`))
