import type { Webhook, DeliveryDetail } from '@org/agent-messaging-core'
import {
  groupBy,
  isBefore,
  ofKind,
  type DeliveryStep,
  type EventFact,
  type History,
} from '../history.js'

type Attempted = Extract<DeliveryStep, { kind: 'attempted' }>

/**
 * Violations that the history shows of the promises about deliveries, one sentence each; nothing,
 * if they were kept.
 */
export function deliveryViolations(history: History): string[] {
  return [
    ...violationsOfOutbox(history),
    ...history.deliveriesLeft.flatMap((detail) =>
      violationsOfAttempts(detail, attemptsOf(history, detail)),
    ),
    ...violationsOfFencing(history),
  ]
}

/**
 * G3. Each event that was committed has one delivery for each subscribed webhook, with its body;
 * no other event has any.
 */
function violationsOfOutbox({ runs, webhooks, deliveriesLeft }: History): string[] {
  const events = ofKind(runs, 'recorded').flatMap(({ ok, event }) => (ok && event ? [event] : []))
  const left = groupBy(deliveriesLeft, ({ delivery }) => delivery.eventId)
  const wrong = events.flatMap((event) => {
    const expected = webhooks.filter((webhook) => isSubscribed(webhook, event)).map(({ id }) => id)
    const made = (left.get(event.id) ?? [])
      .filter(({ body }) => body === event.body)
      .map(({ delivery }) => delivery.webhookId)
    return String(made.sort()) === String(expected.sort())
      ? []
      : [`event ${event.id} has ${made.length} deliveries in place of ${expected.length}`]
  })
  const committed = new Set(events.map(({ id }) => id))
  const stray = [...left.keys()]
    .filter((id) => !committed.has(id))
    .map((id) => `event ${id} was not committed and has deliveries`)
  return [...wrong, ...stray]
}

const isSubscribed = ({ events }: Webhook, { name }: EventFact): boolean =>
  events.some((wanted) => wanted === '*' || wanted === name)

/**
 * G4. Every attempt that was taken is kept, numbered 1, 2, 3 …; the delivery ends with one that a
 * receiver took.
 */
function violationsOfAttempts(
  { delivery, attempts }: DeliveryDetail,
  taken: readonly Attempted[],
): string[] {
  const numbers = attempts.map(({ attemptNumber }) => attemptNumber)
  const areNumbered =
    numbers.every((number, index) => number === index + 1) &&
    delivery.attemptCount === attempts.length
  const successes = taken.filter(({ outcome }) => outcome.kind === 'accepted')
  const end = successes[0]
  const afterTheEnd = end ? taken.filter((attempt) => isBefore(end, attempt)) : []
  return [
    ...(areNumbered
      ? []
      : [
          `delivery ${delivery.id} counts ${delivery.attemptCount} attempts, numbered ${numbers.join(', ')}`,
        ]),
    ...(taken.length === attempts.length
      ? []
      : [`delivery ${delivery.id} took ${taken.length} attempts and keeps ${attempts.length}`]),
    ...(delivery.state.kind === 'delivered' && successes.length === 1
      ? []
      : [`delivery ${delivery.id} is ${delivery.state.kind} after ${successes.length} successes`]),
    ...afterTheEnd.map(() => `delivery ${delivery.id} took an attempt after it was delivered`),
  ]
}

const attemptsOf = ({ deliveries }: History, { delivery }: DeliveryDetail): Attempted[] =>
  ofKind(deliveries, 'attempted').filter(({ deliveryId, ok }) => ok && deliveryId === delivery.id)

/** G4. Once a newer claim was handed out, no failed attempt of an older one is taken. */
function violationsOfFencing({ deliveries }: History): string[] {
  const claims = groupBy(ofKind(deliveries, 'claimed'), ({ deliveryId }) => deliveryId)
  return ofKind(deliveries, 'attempted').flatMap((attempt) => {
    if (!attempt.ok || attempt.outcome.kind === 'accepted') return []
    const all = claims.get(attempt.deliveryId) ?? []
    const own = all.find(({ token }) => token === attempt.token)
    const newer = all.find((claim) => own && isBefore(own, claim) && isBefore(claim, attempt))
    return newer
      ? [`delivery ${attempt.deliveryId} took a failed attempt whose lease was lost`]
      : []
  })
}
