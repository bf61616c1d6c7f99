import type { Result } from 'neverthrow'
import type { Outcome } from '../domain/delivery.js'

/** Sends webhook requests. */
export interface WebhookSender {
  /**
   * One POST of exactly these characters as UTF-8, with these headers and those of the connection. Never rejects, never outlives
   * `deadlineMs` (DNS, connect and body included), follows no redirect, never connects to an address that the operator did not allow.
   */
  send(request: SendRequest): Promise<Outcome>
  /** Whether `url` may be registered; the error says why not, in words for the caller. A name that does not resolve yet may. */
  vet(url: string): Promise<Result<void, string>>
}

export type SendRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly deadlineMs: number
}
