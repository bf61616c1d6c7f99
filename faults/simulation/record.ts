import type {
  DeliveryStore,
  MessageStore,
  Outgoing,
  RecoveryStore,
  WebhookStore,
} from '@org/agent-messaging-core/storage'
import type { FaultLog } from './fault-log.js'
import type { StoreObserver } from './storage.js'
import type { Timeline } from './timeline.js'

/** Facts that only the store knows, recorded at the time of the call. */
export type StoreRecord = {
  readonly observe: StoreObserver
  /** Idempotency keys by message. */
  readonly keys: ReadonlyMap<string, string>
  /** Number of retries by message. */
  readonly retries: ReadonlyMap<string, number>
  /** Number of retries before a claim, by the token of the claim. */
  readonly retriesAt: ReadonlyMap<number, number>
  /** All webhooks, also deleted ones. */
  readonly webhooks: readonly RecordedWebhook[]
  /** The places of events in the order of their commits, from 1. */
  readonly places: ReadonlyMap<string, number>
  /** Times of redelivery requests, with the id of the delivery or the webhook. */
  readonly redelivered: readonly { readonly at: number; readonly of: string | undefined }[]
}

type RecordedWebhook = {
  readonly webhookId: string
  readonly url: string
  readonly isOrdered: boolean
}

type Params<S, M extends keyof S> = S[M] extends (...args: infer P) => unknown ? P : never
type Answer<S, M extends keyof S> = S[M] extends (...args: never[]) => PromiseLike<infer R>
  ? R extends { value: infer V }
    ? V
    : never
  : never

export function createRecord(timeline: Timeline, faults: FaultLog): StoreRecord {
  const keys = new Map<string, string>()
  const retries = new Map<string, number>()
  const retriesAt = new Map<number, number>()
  const webhooks: RecordedWebhook[] = []
  const places = new Map<string, number>()
  const redelivered: { at: number; of: string | undefined }[] = []

  const noteClaim = (messageId: string, token: number): void =>
    void retriesAt.set(token, retries.get(messageId) ?? 0)

  const noteEvents = ({ events }: Outgoing): void => {
    for (const { id } of events) places.set(id, places.size + 1)
  }

  const notes = {
    'messages.accept': (
      [message]: Params<MessageStore, 'accept'>,
      accepted: Answer<MessageStore, 'accept'>,
    ) => {
      const isNew = accepted.kind === 'created' || accepted.kind === 'claimed'
      if (isNew && message.idempotencyKey !== undefined)
        keys.set(message.id, message.idempotencyKey)
      if (accepted.kind === 'claimed') noteClaim(message.id, accepted.claimed.lease.token)
    },
    'messages.claimRunnable': (_: unknown, claimed: Answer<MessageStore, 'claimRunnable'>) => {
      for (const { message, lease } of claimed) noteClaim(message.id, lease.token)
    },
    'messages.retry': (
      [{ messageId }]: Params<MessageStore, 'retry'>,
      retried: Answer<MessageStore, 'retry'>,
    ) => {
      if (retried?.kind === 'retried') retries.set(messageId, (retries.get(messageId) ?? 0) + 1)
    },
    'messages.recordRun': (
      [{ outgoing }]: Params<MessageStore, 'recordRun'>,
      recorded: Answer<MessageStore, 'recordRun'>,
    ) => {
      if (outgoing && recorded.kind === 'recorded') noteEvents(outgoing)
    },
    'messages.cancel': (
      [{ outgoing }]: Params<MessageStore, 'cancel'>,
      cancelled: Answer<MessageStore, 'cancel'>,
    ) => {
      if (cancelled?.kind === 'cancelled') noteEvents(outgoing)
    },
    'webhooks.create': ([{ id, url, ordering }]: Params<WebhookStore, 'create'>) =>
      void webhooks.push({ webhookId: id, url, isOrdered: ordering === 'session' }),
    'deliveries.redeliver': ([{ deliveryId, webhookId }]: Params<DeliveryStore, 'redeliver'>) => {
      redelivered.push({ at: timeline.elapsed, of: deliveryId ?? webhookId })
    },
    'recoveries.advance': (_: unknown, recovery: Answer<RecoveryStore, 'advance'>) => {
      if (recovery) redelivered.push({ at: timeline.elapsed, of: recovery.filter.webhookId })
    },
    // A request of the cancelled delivery can still arrive without a record.
    'deliveries.cancel': ([, , , , reason]: Params<DeliveryStore, 'cancel'>) =>
      faults.record(reason === 'skipped' ? 'a delivery is skipped' : 'a delivery is cancelled', 0),
  }

  return {
    keys,
    retries,
    retriesAt,
    webhooks,
    places,
    redelivered,
    observe: (method, args, answer) => {
      if (Object.hasOwn(notes, method))
        notes[method as keyof typeof notes](args as never, answer as never)
    },
  }
}
