import type { DedupeStore } from './dedupe.js'
import { isServiceEvent, type EventName, type PublishedEvent, type WebhookEvent } from './events.js'
import { keysIn, type Secret } from './secrets.js'
import { WebhookVerificationError, type VerificationErrorCode } from './verification-error.js'
import { verify, type Delivery, type HeadersLike, type VerifyOptions } from './verify.js'

/** The handlers by event name. If a handler rejects, the service sends the event again. */
export type EventHandlers = {
  readonly [Name in EventName]?: (event: WebhookEvent<Name>, delivery: Delivery) => unknown
}

export type ReceiverOptions = VerifyOptions & {
  /**
   * The webhook's secret, or several during a rotation. Checked when the handler is created. An
   * empty list can be filled later.
   */
  readonly secret: Secret
  /** Events without a handler are accepted and ignored. */
  readonly on?: EventHandlers
  /** The handlers of published events by their type, such as `order.paid`. */
  readonly onPublished?: Readonly<
    Record<string, (event: PublishedEvent, delivery: Delivery) => unknown>
  >
  /** Limits a body that the handler reads. A longer body gets a 413. The default is 8 MiB. */
  readonly maxBodyBytes?: number
  /** Detects duplicates. Without it, the handlers receive every duplicate. */
  readonly dedupe?: DedupeStore
  /** Receives the error of each invalid request and each failed handler. */
  readonly onError?: (error: Error) => void
}

/** The response to a request. A 2xx ends the delivery. Any other status causes a retry. */
export type ReceiverResponse = { readonly status: number; readonly body: string }

/** @throws WebhookVerificationError if the secret is missing or malformed */
export function checked(options: ReceiverOptions): ReceiverOptions {
  const isEmptyList = typeof options.secret === 'object' && options.secret.length === 0
  if (!isEmptyList) keysIn(options.secret)
  return options
}

/** Verifies a request, skips a duplicate, and calls the event's handler. Never rejects. */
export async function receive(
  options: ReceiverOptions,
  read: () => unknown,
  headers: HeadersLike,
): Promise<ReceiverResponse> {
  try {
    const delivery = await verify((await read()) as string, headers, options.secret, options)
    return await handle(options, delivery)
  } catch (error) {
    options.onError?.(error instanceof Error ? error : new Error(String(error), { cause: error }))
    return error instanceof WebhookVerificationError
      ? refusal(error)
      : { status: 500, body: 'the handler failed' }
  }
}

/** Mistakes of the receiver. A 500 causes retries until they are fixed. */
const RECEIVER_MISTAKES: readonly VerificationErrorCode[] = [
  'BODY_ALREADY_PARSED',
  'SECRET_MISSING',
  'SECRET_INVALID',
]

const refusal = ({ code, message }: WebhookVerificationError): ReceiverResponse => ({
  status: statusOf(code),
  body: message,
})

function statusOf(code: VerificationErrorCode): number {
  if (code === 'BODY_TOO_LONG') return 413
  return RECEIVER_MISTAKES.includes(code) ? 500 : 401
}

async function handle(
  { dedupe, on = {}, onPublished = {} }: ReceiverOptions,
  delivery: Delivery,
): Promise<ReceiverResponse> {
  const { deliveryId, event } = delivery
  const state = (await dedupe?.begin(deliveryId)) ?? 'begun'
  if (state === 'done') return { status: 200, body: 'already processed' }
  if (state === 'busy')
    return { status: 409, body: 'another request for this delivery is in progress' }
  try {
    if (isServiceEvent(event)) {
      const handler = on[event.event] as
        | ((event: WebhookEvent, delivery: Delivery) => unknown)
        | undefined
      await handler?.(event, delivery)
    } else await onPublished[event.event]?.(event, delivery)
  } catch (error) {
    await dedupe?.abandon(deliveryId)
    throw error
  }
  await dedupe?.finish(deliveryId)
  return { status: 200, body: '' }
}
