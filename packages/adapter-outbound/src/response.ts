import type { IncomingHttpHeaders } from 'node:http'
import { CappedBody } from './capped-body.js'
import type { Unreachable } from './fault.js'

export type Head = { readonly statusCode: number; readonly headers: IncomingHttpHeaders }

/**
 * A whole response. The body is not decompressed. `truncated`: the body has more than
 * `maxBodyBytes`.
 */
export type HttpResponse = Head & {
  readonly kind: 'response'
  readonly body: Buffer
  readonly truncated: boolean
}
export type HttpOutcome = HttpResponse | Unreachable

/** Slows down or ends the exchange that receives a response. */
export type Flow = {
  pause(): void
  resume(): void
  /** Ends the exchange and calls `fail`, unless the response has ended already. */
  abort(reason: Unreachable): void
}

/** Receives one response: head, data, end. `fail` can replace the rest at any time. */
export interface ResponseHandler {
  begin(head: Head, flow: Flow): void
  /** Returns false to end the exchange. No other method is called after that. */
  append(chunk: Buffer): boolean
  end(): void
  fail(reason: Unreachable): void
}

/** Collects a response up to `maxBodyBytes`. */
export class CollectedResponse implements ResponseHandler {
  readonly #settle: (outcome: HttpOutcome) => void
  readonly #body: CappedBody
  #head: Head = { statusCode: 0, headers: {} }

  constructor(maxBodyBytes: number, settle: (outcome: HttpOutcome) => void) {
    this.#body = new CappedBody(maxBodyBytes)
    this.#settle = settle
  }

  begin(head: Head): void {
    this.#head = head
  }

  append(chunk: Buffer): boolean {
    const fits = this.#body.append(chunk)
    if (!fits) this.#settle(this.#response(true))
    return fits
  }

  end(): void {
    this.#settle(this.#response(false))
  }

  fail(reason: Unreachable): void {
    this.#settle(reason)
  }

  #response(truncated: boolean): HttpResponse {
    return { kind: 'response', ...this.#head, body: this.#body.bytes(), truncated }
  }
}
