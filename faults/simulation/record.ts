import type { DeliveryStore, MessageStore, WebhookStore } from '@org/agent-messaging-core/storage'
import type { Faults } from './faults.js'
import type { Witness } from './storage.js'
import type { World } from './world.js'

/** What only the store knows, noted at the moment in which it did it. */
export type StoreRecord = {
  readonly witness: Witness
  /** The idempotency key that made the message. */
  readonly keys: ReadonlyMap<string, string>
  /** How often somebody put the message back into its queue. */
  readonly retries: ReadonlyMap<string, number>
  /** The same, as it was when the claim with this token was made. */
  readonly retriesAt: ReadonlyMap<number, number>
  /** Those that are deleted too. */
  readonly webhooks: readonly { readonly webhookId: string; readonly url: string }[]
  /** When somebody asked for a delivery, or for those of a webhook, to be sent again. */
  readonly redelivered: readonly { readonly at: number; readonly of: string | undefined }[]
}

type Params<S, M extends keyof S> = S[M] extends (...args: infer P) => unknown ? P : never
type Answer<S, M extends keyof S> = S[M] extends (...args: never[]) => PromiseLike<infer R>
  ? R extends { value: infer V }
    ? V
    : never
  : never

export function createRecord(world: World, faults: Faults): StoreRecord {
  const keys = new Map<string, string>()
  const retries = new Map<string, number>()
  const retriesAt = new Map<number, number>()
  const webhooks: { webhookId: string; url: string }[] = []
  const redelivered: { at: number; of: string | undefined }[] = []

  const noteClaim = (messageId: string, token: number): void =>
    void retriesAt.set(token, retries.get(messageId) ?? 0)

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
    'webhooks.create': ([{ id, url }]: Params<WebhookStore, 'create'>) =>
      void webhooks.push({ webhookId: id, url }),
    'deliveries.redeliver': ([{ deliveryId, webhookId }]: Params<DeliveryStore, 'redeliver'>) => {
      redelivered.push({ at: world.elapsed, of: deliveryId ?? webhookId })
    },
    // What is being sent then may arrive, and nobody writes it down.
    'deliveries.cancel': () => faults.brief('a delivery is cancelled', 0),
  }

  return {
    keys,
    retries,
    retriesAt,
    webhooks,
    redelivered,
    witness: (method, args, answer) => {
      if (Object.hasOwn(notes, method))
        notes[method as keyof typeof notes](args as never, answer as never)
    },
  }
}
