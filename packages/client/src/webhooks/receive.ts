import type { DedupeStore } from './dedupe.js'
import type { EventName, WebhookEvent } from './events.js'
import { keysIn, type Secret } from './secrets.js'
import { WebhookVerificationError, type VerificationErrorCode } from './verification-error.js'
import { verify, type Delivery, type HeadersLike, type VerifyOptions } from './verify.js'

/** What is done at an event. Rejecting makes the service send it again. */
export type EventHandlers = {
  readonly [Name in EventName]?: (event: WebhookEvent<Name>, delivery: Delivery) => unknown
}

export type ReceiverOptions = VerifyOptions & {
  /**
   * The webhook's secret; several while one is being rotated. Refused when the handler is made if missing or malformed; a list may be
   * filled and changed later.
   */
  readonly secret: Secret
  /** By name of event. What has no handler is accepted and left alone. */
  readonly on: EventHandlers
  /** Of a body that the handler reads itself; 8 MiB unless given. What is longer is answered with 413. */
  readonly maxBodyBytes?: number
  /** Without it every duplicate comes through. */
  readonly dedupe?: DedupeStore
  /** Told of each request that was not believed and of each handler that failed. */
  readonly onError?: (error: Error) => void
}

/** How a request is answered: 2xx ends the delivery, anything else has it sent again. */
export type Answer = { readonly status: number; readonly body: string }

/** @throws WebhookVerificationError for a secret that no request could be verified with: at the start, not at the first webhook */
export function checked(options: ReceiverOptions): ReceiverOptions {
  const isFilledLater = typeof options.secret === 'object' && options.secret.length === 0
  if (!isFilledLater) keysIn(options.secret)
  return options
}

/** Reads, verifies, leaves duplicates out, and lets the event's handler work. Never rejects. */
export async function receive(
  options: ReceiverOptions,
  read: () => unknown,
  headers: HeadersLike,
): Promise<Answer> {
  try {
    const delivery = await verify((await read()) as string, headers, options.secret, options)
    return await once(options, delivery)
  } catch (error) {
    options.onError?.(error instanceof Error ? error : new Error(String(error), { cause: error }))
    return error instanceof WebhookVerificationError
      ? refusal(error)
      : { status: 500, body: 'the handler failed' }
  }
}

/** Mistakes of the receiver's own: to say 500 keeps the delivery alive until they are mended. */
const OWN_MISTAKES: readonly VerificationErrorCode[] = [
  'BODY_ALREADY_PARSED',
  'SECRET_MISSING',
  'SECRET_INVALID',
]

const refusal = ({ code, message }: WebhookVerificationError): Answer => ({
  status: statusOf(code),
  body: message,
})

function statusOf(code: VerificationErrorCode): number {
  if (code === 'BODY_TOO_LONG') return 413
  return OWN_MISTAKES.includes(code) ? 500 : 401
}

async function once({ dedupe, on }: ReceiverOptions, delivery: Delivery): Promise<Answer> {
  const { deliveryId, event } = delivery
  const begun = (await dedupe?.begin(deliveryId)) ?? 'begun'
  if (begun === 'done') return { status: 200, body: 'seen before' }
  if (begun === 'busy')
    return { status: 409, body: 'another request with this delivery is being worked on' }
  try {
    const handle = on[event.event] as
      | ((event: WebhookEvent, delivery: Delivery) => unknown)
      | undefined
    await handle?.(event, delivery)
  } catch (error) {
    await dedupe?.abandon(deliveryId)
    throw error
  }
  await dedupe?.finish(deliveryId)
  return { status: 200, body: '' }
}
