import type { Answer, Flow, Head } from './answer.js'
import { CappedBody } from './capped-body.js'
import type { HttpRequest } from './exchange.js'
import { Fault, unreachable, type Unreachable } from './fault.js'

export type StreamRequest = HttpRequest & {
  /** In place of `maxBodyBytes` for a 200 of `text/event-stream`, of which no more than an event need ever be held at once. */
  readonly maxEventStreamBytes?: number
  /** The longest time from the head to the first read, and from each read to the next; so a body that nobody reads does not keep its connection. */
  readonly idleMs: number
}

/** When the answer breaks off, `body` errors with a `Fault`, or with the reason of the request's signal. */
export type HttpStream = Head & {
  readonly kind: 'stream'
  readonly body: ReadableStream<Uint8Array>
}

/** What a stream holds for its reader before the sender has to wait. */
const READ_AHEAD_BYTES = 64 * 1024

/**
 * An answer that is read while it comes. What arrived between two reads is handed over in one piece: a body of one-byte
 * chunks costs its reader no more than any other.
 */
export class StreamedAnswer implements Answer {
  private readonly settle: (outcome: HttpStream | Unreachable) => void
  private readonly request: StreamRequest
  private flow: Flow | undefined
  private reader: ReadableStreamDefaultController<Uint8Array> | undefined
  private idle: NodeJS.Timeout | undefined
  private limit = 0
  private remaining = 0
  private held = new CappedBody(0)
  private isAwaited = false
  private hasEnded = false

  constructor(request: StreamRequest, settle: (outcome: HttpStream | Unreachable) => void) {
    this.request = request
    this.settle = settle
  }

  begin(head: Head, flow: Flow): void {
    this.flow = flow
    const { idleMs, maxBodyBytes, maxEventStreamBytes = maxBodyBytes } = this.request
    this.limit = this.remaining = isEventStream(head) ? maxEventStreamBytes : maxBodyBytes
    this.held = new CappedBody(this.limit)
    this.idle = setTimeout(
      () => flow.giveUp(unreachable('timeout', `the answer stood still for ${idleMs} ms`)),
      idleMs,
    )
    const body = new ReadableStream<Uint8Array>(
      {
        start: (reader) => void (this.reader = reader),
        pull: () => this.pull(),
        cancel: () => flow.giveUp(CANCELLED),
      },
      { highWaterMark: 0 },
    )
    this.settle({ kind: 'stream', ...head, body })
  }

  append(chunk: Buffer): boolean {
    if (!this.held.append(chunk)) {
      clearTimeout(this.idle)
      this.reader?.error(new TooLarge(`more than ${this.limit} bytes`))
      return false
    }
    if (this.isAwaited) this.handOver()
    else if (this.held.length >= READ_AHEAD_BYTES) this.flow?.pause()
    return true
  }

  end(): void {
    clearTimeout(this.idle)
    this.hasEnded = true
    if (this.held.length === 0) this.reader?.close()
  }

  fail(why: Unreachable): void {
    clearTimeout(this.idle)
    this.reader?.error(errorOf(why, this.request.signal))
    this.settle(why)
  }

  private pull(): void {
    this.isAwaited = true
    if (this.held.length > 0) this.handOver()
    this.idle?.refresh()
    this.flow?.resume()
  }

  private handOver(): void {
    const bytes = this.held.bytes()
    this.isAwaited = false
    this.remaining -= bytes.length
    this.held = new CappedBody(this.remaining)
    this.reader?.enqueue(bytes)
    if (this.hasEnded) this.reader?.close()
  }
}

const isEventStream = ({ statusCode, headers }: Head): boolean =>
  statusCode === 200 && /^text\/event-stream\s*(?:;|$)/i.test(headers['content-type'] ?? '')

/** The body of an answer goes beyond its limit; the next one may well do so too. */
export class TooLarge extends Fault {
  constructor(what: string) {
    super('protocol', `the answer has ${what}`)
  }
}

/** Who aborted gets back the reason they gave. */
export const errorOf = ({ error, detail }: Unreachable, signal: AbortSignal | undefined): unknown =>
  signal?.aborted ? signal.reason : new Fault(error, detail)

const CANCELLED = unreachable('reset', 'nobody wants the rest of the answer')
