import {
  HOLD_CAUSES,
  type Backlog,
  type Instant,
  type MessagingService,
} from '@org/agent-messaging-core'
import type { Instruments } from './instruments.js'

type Load = ReturnType<MessagingService['load']>

/** The state at the time of a scrape. While the storage is unavailable, its gauges are absent. */
export function stateGauges({ gauge }: Instruments) {
  const inFlight = gauge('in_flight', 'Active runs and delivery attempts of this process.', ['of'])
  const waiting = gauge('waiting_callers', 'Requests of this process that wait for an answer.')
  const readers = gauge('waiting_event_readers', 'Requests that wait for events of the log.')
  const limits = gauge(
    'webhook_limits',
    'Webhooks that this process sent to, by the reason of their limit.',
    ['reason'],
  )
  const up = gauge('storage_up', 'Whether this scrape could read the storage.')
  // The following gauges describe the whole storage and are the same for all processes.
  const messages = messageGauges(gauge)
  const deliveries = gauge(
    'deliveries',
    'Open deliveries: due, held (see delivery_held_seconds), or later.',
    ['state'],
  )
  const deliveryLag = gauge(
    'delivery_lag_seconds',
    'How long the oldest delivery that can be sent now has been due.',
  )
  const deliveryHeld = gauge(
    'delivery_held_seconds',
    'How long the oldest delivery that is not sent has been due, by cause: disabled, paused, circuit, limit (of this process) or order.',
    ['cause'],
  )
  const webhooks = gauge(
    'webhooks_held',
    'Webhooks that are disabled or have an open or half-open circuit.',
    ['state'],
  )

  function showBacklog(backlog: Backlog, now: Instant) {
    messages.show(backlog.messages, now)
    const { open, due, held, disabledWebhooks, openCircuits, halfOpenCircuits } = backlog.deliveries
    const causes = HOLD_CAUSES.map((cause) => ({ cause, ...held[cause] }))
    const heldCount = causes.reduce((sum, { count }) => sum + count, 0)
    const counts = { due, held: heldCount, later: open - due - heldCount }
    for (const [state, count] of Object.entries(counts)) deliveries.set(count, { state })
    for (const { cause, oldestAt } of causes)
      deliveryHeld.set(secondsSince(oldestAt, now), { cause })
    deliveryLag.set(secondsSince(backlog.deliveries.oldestDueAt, now))
    const states = {
      disabled: disabledWebhooks,
      circuit_open: openCircuits,
      circuit_half_open: halfOpenCircuits,
    }
    for (const [state, count] of Object.entries(states)) webhooks.set(count, { state })
  }

  function hideBacklog() {
    for (const labelled of [deliveries, deliveryHeld, webhooks]) labelled.clear()
    deliveryLag.clear()
    messages.hide()
  }

  return {
    /** `backlog` is undefined while the storage is unavailable. */
    show(
      { runs, attempts, waitingCallers, waitingReaders, limits: byReason }: Load,
      backlog: Backlog | undefined,
      now: Instant,
    ): void {
      inFlight.set(runs, { of: 'runs' })
      inFlight.set(attempts, { of: 'attempts' })
      waiting.set(waitingCallers)
      readers.set(waitingReaders)
      for (const [reason, count] of Object.entries(byReason)) limits.set(count, { reason })
      up.set(backlog ? 1 : 0)
      if (backlog) showBacklog(backlog, now)
      else hideBacklog()
    },
  }
}

const secondsSince = (then: Instant | undefined, now: Instant) =>
  then === undefined ? 0 : Math.max(0, now - then) / 1_000

function messageGauges(gauge: Instruments['gauge']) {
  const count = gauge('messages', 'Messages that are not final, by state.', ['state'])
  const lag = gauge('message_lag_seconds', 'How long the oldest message that can run has been due.')
  const inputAge = gauge('input_age_seconds', 'How long the oldest open question has waited.')
  return {
    show({ queued, running, deferred, ...more }: Backlog['messages'], now: Instant): void {
      const counts = { queued, running, deferred, input_required: more.inputRequired }
      for (const [state, open] of Object.entries(counts)) count.set(open, { state })
      lag.set(secondsSince(more.oldestDueAt, now))
      inputAge.set(secondsSince(more.oldestAskedAt, now))
    },
    hide(): void {
      count.clear()
      for (const unlabelled of [lag, inputAge]) unlabelled.clear()
    },
  }
}
