import { CappedBody } from '../capped-body.js'
import type { HttpRequest } from '../exchange.js'
import { Fault, unreachable, type Unreachable } from '../fault.js'
import {
  CollectedResponse,
  type Flow,
  type Head,
  type HttpOutcome,
  type ResponseHandler,
} from '../response.js'

export type StreamRequest = HttpRequest & {
  /** Replaces `maxBodyBytes` for an event stream, whose reader holds only one event at a time. */
  readonly maxEventStreamBytes?: number
  /**
   * The longest time from the head to the first read, and between reads. Frees the connection of an
   * unread body.
   */
  readonly idleMs: number
}

/**
 * An event stream can hold the longest answer in events of one word. Only a server that is gone
 * sends nothing for so long.
 */
export const STREAM_LIMITS = { maxEventStreamBytes: 64 * 1024 * 1024, idleMs: 5 * 60_000 }

/** `body` fails with a `Fault` or the reason of the request's signal. */
export type HttpStream = Head & {
  readonly kind: 'stream'
  readonly body: ReadableStream<Uint8Array>
}

/** Bytes that wait for the reader before the server has to wait. */
const READ_AHEAD_BYTES = 64 * 1024
const CANCELLED = unreachable('reset', 'the reader cancelled the response')

/**
 * A response that the caller reads while it arrives. All bytes between two reads form one piece,
 * so that a body of one-byte chunks is not expensive to read.
 */
export class StreamedResponse implements ResponseHandler {
  readonly #settle: (outcome: HttpStream | Unreachable) => void
  readonly #request: StreamRequest
  #flow: Flow | undefined
  #reader: ReadableStreamDefaultController<Uint8Array> | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #limit = 0
  #remaining = 0
  #unread = new CappedBody(0)
  #readerWaits = false
  #hasEnded = false

  constructor(request: StreamRequest, settle: (outcome: HttpStream | Unreachable) => void) {
    this.#request = request
    this.#settle = settle
  }

  begin(head: Head, flow: Flow): void {
    this.#flow = flow
    const { idleMs, maxBodyBytes, maxEventStreamBytes = maxBodyBytes } = this.#request
    this.#limit = isEventStream(head) ? maxEventStreamBytes : maxBodyBytes
    this.#remaining = this.#limit
    this.#unread = new CappedBody(this.#limit)
    this.#idleTimer = setTimeout(
      () => flow.abort(unreachable('timeout', `the response stalled for ${idleMs} ms`)),
      idleMs,
    )
    const body = new ReadableStream<Uint8Array>(
      {
        start: (reader) => void (this.#reader = reader),
        pull: () => this.#pull(),
        cancel: () => flow.abort(CANCELLED),
      },
      { highWaterMark: 0 },
    )
    this.#settle({ kind: 'stream', ...head, body })
  }

  append(chunk: Buffer): boolean {
    if (!this.#unread.append(chunk)) {
      clearTimeout(this.#idleTimer)
      this.#reader?.error(new TooLarge(`more than ${this.#limit} bytes`))
      return false
    }
    if (this.#readerWaits) this.#handOver()
    else if (this.#unread.length >= READ_AHEAD_BYTES) this.#flow?.pause()
    return true
  }

  end(): void {
    clearTimeout(this.#idleTimer)
    this.#hasEnded = true
    if (this.#unread.length === 0) this.#reader?.close()
  }

  fail(reason: Unreachable): void {
    clearTimeout(this.#idleTimer)
    this.#reader?.error(errorOf(reason, this.#request.signal))
    this.#settle(reason)
  }

  #pull() {
    this.#readerWaits = true
    if (this.#unread.length > 0) this.#handOver()
    this.#idleTimer?.refresh()
    this.#flow?.resume()
  }

  #handOver() {
    const bytes = this.#unread.bytes()
    this.#readerWaits = false
    this.#remaining -= bytes.length
    this.#unread = new CappedBody(this.#remaining)
    this.#reader?.enqueue(bytes)
    if (this.#hasEnded) this.#reader?.close()
  }
}

/** Collects a response, except an event stream: the caller reads it while it arrives. */
export function collectedOrStreamed(
  request: StreamRequest,
  settle: (outcome: HttpOutcome | HttpStream) => void,
): ResponseHandler {
  let handler: ResponseHandler = new CollectedResponse(request.maxBodyBytes, settle)
  return {
    begin(head, flow) {
      if (isEventStream(head)) handler = new StreamedResponse(request, settle)
      handler.begin(head, flow)
    },
    append: (chunk) => handler.append(chunk),
    end: () => handler.end(),
    fail: (reason) => handler.fail(reason),
  }
}

const isEventStream = ({ statusCode, headers }: Head) =>
  statusCode === 200 && /^text\/event-stream\s*(?:;|$)/i.test(headers['content-type'] ?? '')

/** A response exceeds a limit. A retry can exceed the limit again. */
export class TooLarge extends Fault {
  constructor(what: string) {
    super('protocol', `the response has ${what}`)
  }
}

/** The reason of the caller's signal if it aborted, else a `Fault`. */
export const errorOf = ({ error, detail }: Unreachable, signal: AbortSignal | undefined): unknown =>
  signal?.aborted ? signal.reason : new Fault(error, detail)
