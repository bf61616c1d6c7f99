import type { IncomingHttpHeaders } from 'node:http'
import { CappedBody } from './capped-body.js'
import type { Unreachable } from './fault.js'

export type Head = { readonly statusCode: number; readonly headers: IncomingHttpHeaders }

/** `truncated`: the body has more than `maxBodyBytes`. It is as it came: nothing is asked to be compressed and nothing is inflated. */
export type HttpResponse = Head & {
  readonly kind: 'response'
  readonly body: Buffer
  readonly truncated: boolean
}
export type HttpOutcome = HttpResponse | Unreachable

/** How an answer slows down or ends the exchange that brings it. */
export type Flow = {
  pause(): void
  resume(): void
  /** `fail` follows, unless the answer has ended already. */
  giveUp(why: Unreachable): void
}

/** What becomes of one answer: a head, then data, then its end; and at any moment, instead of what was to come, `fail`. */
export interface Answer {
  begin(head: Head, flow: Flow): void
  /** False when nothing more is wanted of it. Then it is not called again. */
  append(chunk: Buffer): boolean
  end(): void
  fail(why: Unreachable): void
}

/** An answer that is wanted whole, or as much of it as fits. */
export class CollectedAnswer implements Answer {
  private readonly settle: (outcome: HttpOutcome) => void
  private readonly body: CappedBody
  private head: Head = { statusCode: 0, headers: {} }

  constructor(maxBodyBytes: number, settle: (outcome: HttpOutcome) => void) {
    this.body = new CappedBody(maxBodyBytes)
    this.settle = settle
  }

  begin(head: Head): void {
    this.head = head
  }

  append(chunk: Buffer): boolean {
    const fits = this.body.append(chunk)
    if (!fits) this.settle(this.response(true))
    return fits
  }

  end(): void {
    this.settle(this.response(false))
  }

  fail(why: Unreachable): void {
    this.settle(why)
  }

  private response(truncated: boolean): HttpResponse {
    return { kind: 'response', ...this.head, body: this.body.bytes(), truncated }
  }
}
