import type { Outcome } from '../domain/webhooks/delivery.js'
import type { PortResult } from './port-result.js'

/** Sends webhook requests. */
export interface WebhookSender {
  /**
   * Sends one POST with exactly this body as UTF-8, with these headers and the connection's. Never
   * rejects. Ends within `deadlineMs`, which includes DNS, connecting and reading. Follows no
   * redirect. Never connects to an address that the operator does not allow.
   */
  send(request: SendRequest): Promise<Outcome>
  /**
   * Checks whether `url` can be registered. The error is the reason, for the caller. A name that
   * does not resolve yet is accepted.
   */
  vet(url: string): Promise<PortResult<void, string>>
}

export type SendRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly deadlineMs: number
}
