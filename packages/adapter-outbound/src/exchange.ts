import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Answer, Flow } from './answer.js'
import { classify, unreachable, type Unreachable } from './fault.js'

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

export type HttpRequest = {
  readonly method: HttpMethod
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A string is sent as UTF-8. */
  readonly body?: string | Uint8Array
  /** Total: waiting for a connection, DNS, connect, TLS, head and body of the answer. None when absent; then `signal` must end it. */
  readonly deadlineMs?: number
  /** Of the answer's body. Reading stops here, and the connection is given up if there is more. */
  readonly maxBodyBytes: number
  readonly signal?: AbortSignal
}

/** A server may say "still at it" (1xx) so many times. */
const MAX_INTERIM_RESPONSES = 64

/** One request, from dispatch to the end of its answer. However it ends, it ends once. */
export class Exchange implements Dispatcher.DispatchHandler, Flow {
  /** As undici wants it. */
  readonly dispatched: Dispatcher.DispatchOptions
  private readonly answer: Answer
  private readonly onEnd: OnEnd
  private readonly signal: AbortSignal | undefined
  private readonly timer: NodeJS.Timeout | undefined
  private controller: Dispatcher.DispatchController | undefined
  private hasEnded = false
  private interimResponses = 0

  constructor(request: HttpRequest, path: string, answer: Answer, onEnd: OnEnd) {
    const { method, headers, body = null, deadlineMs, signal } = request
    this.dispatched = { method, path, headers, body }
    this.answer = answer
    this.onEnd = onEnd
    this.signal = signal
    // One plain timer: an AbortSignal.timeout costs as much as the rest of a small request.
    if (deadlineMs !== undefined) this.timer = setTimeout(expire, deadlineMs, this, deadlineMs)
    signal?.addEventListener('abort', this.onAbort)
  }

  /** Ends it now, with its connection not fit for more. */
  giveUp(why: Unreachable): void {
    if (this.finish(false)) this.answer.fail(why)
  }

  pause(): void {
    this.controller?.pause()
  }

  resume(): void {
    this.controller?.resume()
  }

  /** Must be there: undici tells its present interface from the old one by it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (statusCode >= 200) {
      if (!this.hasEnded) this.answer.begin({ statusCode, headers }, this)
    } else if (statusCode === 101) {
      this.giveUp(unreachable('protocol', 'the answer switches to another protocol'))
    } else if (++this.interimResponses > MAX_INTERIM_RESPONSES) {
      this.giveUp(unreachable('protocol', 'too many interim answers'))
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici brings an empty chunk when it is resumed: an answer that pauses then would be paused for good.
    if (!this.hasEnded && chunk.length > 0 && !this.answer.append(chunk)) this.finish(false)
  }

  onResponseEnd(): void {
    if (this.finish(true)) this.answer.end()
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.giveUp(classify(error))
  }

  private readonly onAbort = (): void => this.giveUp(GIVEN_UP)

  /** False when it had ended before. */
  private finish(isComplete: boolean): boolean {
    if (this.hasEnded) return false
    this.hasEnded = true
    clearTimeout(this.timer)
    this.signal?.removeEventListener('abort', this.onAbort)
    this.onEnd(this, isComplete)
    return true
  }
}

/** `isComplete`: the answer was read to its end, so the connection may carry another request. */
type OnEnd = (exchange: Exchange, isComplete: boolean) => void

export const GIVEN_UP = unreachable('timeout', 'given up by the caller')

const expire = (exchange: Exchange, deadlineMs: number): void =>
  exchange.giveUp(unreachable('timeout', `no complete answer within ${deadlineMs} ms`))
