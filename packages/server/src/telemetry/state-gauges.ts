import type { Instant, MessagingService } from '@org/agent-messaging-core'
import { HOLD_CAUSES, type Backlog } from '@org/agent-messaging-core/host'
import type { Instruments } from './instruments.js'

type Load = ReturnType<MessagingService['host']['load']>

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
  const deliveries = deliveryGauges(gauge)

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
      messages.show(backlog?.messages, now)
      deliveries.show(backlog?.deliveries, now)
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
    show(backlog: Backlog['messages'] | undefined, now: Instant): void {
      if (!backlog) {
        for (const each of [count, lag, inputAge]) each.clear()
        return
      }
      const { queued, running, deferred, ...more } = backlog
      const counts = { queued, running, deferred, input_required: more.inputRequired }
      for (const [state, open] of Object.entries(counts)) count.set(open, { state })
      lag.set(secondsSince(more.oldestDueAt, now))
      inputAge.set(secondsSince(more.oldestAskedAt, now))
    },
  }
}

function deliveryGauges(gauge: Instruments['gauge']) {
  const deliveries = gauge(
    'deliveries',
    'Open deliveries: due, held (see deliveries_held), or later.',
    ['state'],
  )
  const heldCount = gauge(
    'deliveries_held',
    'Due deliveries that are not sent, by cause: disabled, paused, circuit, limit (of this process) or order.',
    ['cause'],
  )
  const lag = gauge(
    'delivery_lag_seconds',
    'How long the oldest delivery that can be sent now has been due.',
  )
  const heldSeconds = gauge(
    'delivery_held_seconds',
    'How long the oldest of the held deliveries has been due, by cause.',
    ['cause'],
  )
  const webhooks = gauge(
    'webhooks_held',
    'Webhooks that are disabled or have an open or half-open circuit.',
    ['state'],
  )
  return {
    show(backlog: Backlog['deliveries'] | undefined, now: Instant): void {
      if (!backlog) {
        for (const each of [deliveries, heldCount, heldSeconds, lag, webhooks]) each.clear()
        return
      }
      const { open, due, oldestDueAt, held, ...ofWebhooks } = backlog
      const causes = HOLD_CAUSES.map((cause) => ({ cause, ...held[cause] }))
      const allHeld = causes.reduce((sum, { count }) => sum + count, 0)
      const counts = { due, held: allHeld, later: open - due - allHeld }
      for (const [state, count] of Object.entries(counts)) deliveries.set(count, { state })
      for (const { cause, count, oldestAt } of causes) {
        heldCount.set(count, { cause })
        heldSeconds.set(secondsSince(oldestAt, now), { cause })
      }
      lag.set(secondsSince(oldestDueAt, now))
      webhooks.set(ofWebhooks.disabledWebhooks, { state: 'disabled' })
      webhooks.set(ofWebhooks.openCircuits, { state: 'circuit_open' })
      webhooks.set(ofWebhooks.halfOpenCircuits, { state: 'circuit_half_open' })
    },
  }
}
