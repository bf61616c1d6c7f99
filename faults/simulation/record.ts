import type { RunUsage } from '@org/agent-messaging-core/runtime'
import type {
  AttemptRecord,
  ClaimedMessage,
  DeliveryStore,
  EventStore,
  HeldRun,
  MessageState,
  MessageStore,
  Outgoing,
  RecoveryStore,
  WebhookStore,
} from '@org/agent-messaging-core/storage'
import { acceptedFact, endedFacts, publishedFact, ranFact, settledFact } from '../checker/facts.js'
import type { Fact } from '../checker/history.js'
import { KIND } from '../harness/new-events.js'
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
  /** What the service must have counted, except for attempts. */
  factsOf(webhookOf: (deliveryId: string) => string): Fact[]
}

type RecordedWebhook = {
  readonly webhookId: string
  readonly url: string
  readonly isOrdered: boolean
  readonly events: readonly string[]
  /** The kind of events that its filter names. */
  readonly kind?: string
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
  const facts: Fact[] = []
  const settled: AttemptRecord[] = []
  const agents = new Map<string, string>()
  /** Claims of messages that have no runs left. */
  const withoutRun = new Set<string>()

  const noteClaim = ({ message: { id }, lease: { token }, isExhausted }: ClaimedMessage): void => {
    retriesAt.set(token, retries.get(id) ?? 0)
    if (isExhausted) withoutRun.add(`${id} ${token}`)
  }

  function noteEnd(messageId: string, state: MessageState, at: number): void {
    facts.push(...endedFacts({ ...state, agentId: agents.get(messageId) ?? messageId, at }))
  }

  function noteRun({ messageId, token }: HeldRun, at: number, tokens?: RunUsage): void {
    const agentId = agents.get(messageId) ?? messageId
    if (!withoutRun.has(`${messageId} ${token}`)) facts.push(ranFact(agentId, at, tokens))
  }

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
      // A repeated write of the same message is accepted again.
      if (isNew && !agents.has(message.id)) {
        const { id, agentId, now: at, message: text, metadata } = message
        agents.set(id, agentId)
        const sent = { message: text, ...(metadata && { metadata: JSON.stringify(metadata) }) }
        facts.push(acceptedFact({ agentId, at, ...sent }))
      }
      if (accepted.kind === 'claimed') noteClaim(accepted.claimed)
    },
    'messages.claimRunnable': (_: unknown, claimed: Answer<MessageStore, 'claimRunnable'>) => {
      for (const claim of claimed) noteClaim(claim)
    },
    'messages.retry': (
      [{ messageId }]: Params<MessageStore, 'retry'>,
      retried: Answer<MessageStore, 'retry'>,
    ) => {
      if (retried?.kind === 'retried') retries.set(messageId, (retries.get(messageId) ?? 0) + 1)
    },
    'messages.recordRun': (
      [run]: Params<MessageStore, 'recordRun'>,
      recorded: Answer<MessageStore, 'recordRun'>,
    ) => {
      if (recorded.kind !== 'recorded') return
      const { messageId, outgoing, state, now } = run
      if (outgoing) noteEvents(outgoing)
      noteRun(run, now, state.kind === 'responded' ? state.usage : undefined)
      noteEnd(messageId, state, now)
    },
    'messages.ask': ([asking]: Params<MessageStore, 'ask'>, asked: Answer<MessageStore, 'ask'>) => {
      if (asked.kind === 'recorded') noteRun(asking, asking.state.askedAt)
    },
    'messages.changeInput': (
      [{ messageId, state, now }]: Params<MessageStore, 'changeInput'>,
      changed: Answer<MessageStore, 'changeInput'>,
    ) => {
      if (changed?.kind === 'changed') noteEnd(messageId, state, now)
    },
    'messages.cancel': (
      [{ messageId, outgoing, state }]: Params<MessageStore, 'cancel'>,
      cancelled: Answer<MessageStore, 'cancel'>,
    ) => {
      if (cancelled?.kind !== 'cancelled') return
      noteEvents(outgoing)
      noteEnd(messageId, state, state.cancelledAt)
    },
    'deliveries.recordAttempts': (
      [records]: Params<DeliveryStore, 'recordAttempts'>,
      recorded: Answer<DeliveryStore, 'recordAttempts'>,
    ) => void settled.push(...records.filter((_, at) => recorded[at]?.kind === 'recorded')),
    'webhooks.create': ([{ id, url, ordering, events, filter }]: Params<
      WebhookStore,
      'create'
    >) => {
      const isOrdered = ordering === 'session'
      webhooks.push({ webhookId: id, url, isOrdered, events, ...(filter && { kind: KIND }) })
    },
    'events.publish': (
      [{ outgoing }]: Params<EventStore, 'publish'>,
      stored: Answer<EventStore, 'publish'>,
    ) => {
      if (stored.kind !== 'published') return
      const fresh = outgoing.events.filter(({ id }) => !places.has(id))
      noteEvents({ ...outgoing, events: fresh })
      facts.push(...fresh.map(({ createdAt: at, body }) => publishedFact({ at, body })))
    },
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
    factsOf: (webhookOf) => [
      ...facts,
      ...settled.flatMap(({ deliveryId, state }) => {
        const webhookId = webhookOf(deliveryId)
        if (state.kind === 'pending') return []
        const at = state.kind === 'delivered' ? state.deliveredAt : state.exhaustedAt
        return settledFact(webhookId, at, state.kind)
      }),
    ],
    observe: (method, args, answer) => {
      if (Object.hasOwn(notes, method))
        notes[method as keyof typeof notes](args as never, answer as never)
    },
  }
}
