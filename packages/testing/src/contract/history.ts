import type { Instant, Message, Webhook, DeliveryDetail } from '@org/agent-messaging-core'
import type { Outcome } from '@org/agent-messaging-core/runtime'
import type {
  AfterRun,
  AttemptRecord,
  ClaimedDelivery,
  ClaimedMessage,
  HeldRun,
} from '@org/agent-messaging-core/storage'

/** The calls of a workload, the answers of the stores, and the rows at the end. */
export type History = {
  readonly sends: readonly Send[]
  readonly runs: readonly RunStep[]
  readonly deliveries: readonly DeliveryStep[]
  readonly webhooks: readonly Webhook[]
  readonly messagesLeft: readonly Message[]
  readonly deliveriesLeft: readonly DeliveryDetail[]
}

/**
 * The start and the end of a call, counted over all calls. Overlapping calls can have happened in
 * either order.
 */
export type Span = { readonly from: number; readonly to: number }
export const isBefore = (a: Span, b: Span): boolean => a.to < b.from

/** `messageId` is the id that was answered, if any; `ownId` the one that was handed in. */
export type Send = Span & {
  readonly agentId: string
  readonly sessionId: string
  readonly key: string | undefined
  readonly ownId: string
  readonly messageId: string | undefined
  readonly isNew: boolean
}

/** `ok` is false for `lease_lost`. */
export type RunStep = Span & HeldRun & RunFact
type RunFact =
  | { readonly kind: 'claimed'; readonly now: Instant; readonly claimed: ClaimedMessage }
  | { readonly kind: 'extended'; readonly until: Instant; readonly ok: boolean }
  | { readonly kind: 'deferred'; readonly deadlineAt: Instant; readonly ok: boolean }
  | {
      readonly kind: 'recorded'
      readonly state: AfterRun
      readonly event: EventFact | undefined
      readonly ok: boolean
    }
export type EventFact = { readonly id: string; readonly name: string; readonly body: string }

export type DeliveryStep = Span & {
  readonly deliveryId: string
  readonly token: number
} & DeliveryFact
type DeliveryFact =
  | { readonly kind: 'claimed'; readonly now: Instant; readonly claimed: ClaimedDelivery }
  | { readonly kind: 'released'; readonly dueAt: Instant; readonly ok: boolean }
  | {
      readonly kind: 'attempted'
      readonly outcome: Outcome
      readonly state: AttemptRecord['state']
      readonly ok: boolean
    }

/** The steps of one kind. */
export const ofKind = <S extends { readonly kind: string }, K extends S['kind']>(
  steps: readonly S[],
  kind: K,
): Extract<S, { kind: K }>[] =>
  steps.filter((step): step is Extract<S, { kind: K }> => step.kind === kind)

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
