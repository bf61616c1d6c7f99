import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { CappedBody } from './capped-body.js'
import { classify, unreachable, type Unreachable } from './fault.js'

export type HttpRequest = {
  readonly method: 'POST' | 'OPTIONS'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as UTF-8. */
  readonly body?: string
  /** Total: waiting for a connection, DNS, connect, TLS, head and body of the answer. None when absent; then `signal` must end it. */
  readonly deadlineMs?: number
  /** Reading stops here, and the connection is given up if there is more. */
  readonly maxBodyBytes: number
  readonly signal?: AbortSignal
}

/** `truncated`: the body has more than `maxBodyBytes`. It is as it came: nothing is asked to be compressed and nothing is inflated. */
export type HttpResponse = {
  readonly kind: 'response'
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly truncated: boolean
}
export type HttpOutcome = HttpResponse | Unreachable

/** A server may say "still at it" (1xx) so many times. */
const MAX_INTERIM_RESPONSES = 64

/** One request, from dispatch to outcome. However it ends, it settles once. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** As undici wants it. */
  readonly dispatched: Dispatcher.DispatchOptions
  private readonly settle: Settle
  private readonly signal: AbortSignal | undefined
  private readonly timer: NodeJS.Timeout | undefined
  private readonly body: CappedBody
  private isSettled = false
  private interimResponses = 0
  private statusCode = 0
  private headers: IncomingHttpHeaders = {}

  constructor(request: HttpRequest, path: string, settle: Settle) {
    const { method, headers, body = null, deadlineMs, maxBodyBytes, signal } = request
    this.dispatched = { method, path, headers, body }
    this.settle = settle
    this.signal = signal
    this.body = new CappedBody(maxBodyBytes)
    // One plain timer: an AbortSignal.timeout costs as much as the rest of a small request.
    if (deadlineMs !== undefined) this.timer = setTimeout(expire, deadlineMs, this, deadlineMs)
    signal?.addEventListener('abort', this.onAbort)
  }

  /** Settles it now, with its connection not fit for more. */
  end(outcome: HttpOutcome): void {
    this.finish(outcome, false)
  }

  /** Must be there: undici tells its present interface from the old one by it. */
  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode >= 200) {
      this.statusCode = statusCode
      this.headers = headers
    } else if (statusCode === 101) {
      this.end(unreachable('protocol', 'the answer switches to another protocol'))
    } else if (++this.interimResponses > MAX_INTERIM_RESPONSES) {
      this.end(unreachable('protocol', 'too many interim answers'))
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.body.append(chunk)) this.end(this.response(true))
  }

  onResponseEnd(): void {
    this.finish(this.response(false), true)
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.end(classify(error))
  }

  private readonly onAbort = (): void => this.end(GIVEN_UP)

  private response(truncated: boolean): HttpResponse {
    return { kind: 'response', statusCode: this.statusCode, headers: this.headers, body: this.body.bytes(), truncated }
  }

  private finish(outcome: HttpOutcome, isComplete: boolean): void {
    if (this.isSettled) return
    this.isSettled = true
    clearTimeout(this.timer)
    this.signal?.removeEventListener('abort', this.onAbort)
    this.settle(outcome, isComplete)
  }
}

/** `isComplete`: the answer was read to its end, so the connection may carry another request. */
type Settle = (outcome: HttpOutcome, isComplete: boolean) => void

export const GIVEN_UP = unreachable('timeout', 'given up by the caller')

const expire = (exchange: Exchange, deadlineMs: number): void =>
  exchange.end(unreachable('timeout', `no complete answer within ${deadlineMs} ms`))
