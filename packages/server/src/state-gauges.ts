import type { Backlog, Instant, MessagingService } from '@org/agent-messaging-core'
import { Gauge, type Registry } from 'prom-client'

type Load = ReturnType<MessagingService['load']>

/** What is so at the moment of a scrape. Of a storage that cannot be read nothing is shown, rather than what was. */
export function stateGauges(register: Registry) {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `agent_messaging_${name}`, help, labelNames, registers: [register] })

  const inFlight = gauge(
    'in_flight',
    'Runs and delivery attempts that this process has under way.',
    ['of'],
  )
  const waiting = gauge('waiting_callers', 'Requests of this process that wait for an answer.')
  const up = gauge('storage_up', 'Whether the storage could be read for this scrape.')
  // Of the whole storage, whichever process one asks.
  const messages = gauge('messages', 'Messages that are not final, by state.', ['state'])
  const messageLag = gauge(
    'message_lag_seconds',
    'How long the message has been due that could have run first.',
  )
  const deliveries = gauge(
    'deliveries',
    'Open deliveries: due now, held (due, but webhook disabled or circuit open), or later.',
    ['state'],
  )
  const deliveryLag = gauge(
    'delivery_lag_seconds',
    'How long the oldest delivery has been due that may be sent.',
  )
  const webhooks = gauge(
    'webhooks_held',
    'Webhooks that are disabled, or whose circuit is not closed.',
    ['state'],
  )

  function showBacklog(backlog: Backlog, now: Instant): void {
    const { queued, running, deferred } = backlog.messages
    for (const [state, count] of Object.entries({ queued, running, deferred }))
      messages.set({ state }, count)
    messageLag.set(secondsSince(backlog.messages.oldestDueAt, now))
    const { open, due, held, disabledWebhooks, openCircuits, halfOpenCircuits } = backlog.deliveries
    for (const [state, count] of Object.entries({ due, held, later: open - due - held }))
      deliveries.set({ state }, count)
    deliveryLag.set(secondsSince(backlog.deliveries.oldestDueAt, now))
    const states = {
      disabled: disabledWebhooks,
      circuit_open: openCircuits,
      circuit_half_open: halfOpenCircuits,
    }
    for (const [state, count] of Object.entries(states)) webhooks.set({ state }, count)
  }

  function hideBacklog(): void {
    for (const labelled of [messages, deliveries, webhooks]) labelled.reset()
    for (const one of [messageLag, deliveryLag]) one.remove()
  }

  return {
    /** `backlog`: undefined when the storage is away. */
    show(
      { runs, attempts, waitingCallers }: Load,
      backlog: Backlog | undefined,
      now: Instant,
    ): void {
      inFlight.set({ of: 'runs' }, runs)
      inFlight.set({ of: 'attempts' }, attempts)
      waiting.set(waitingCallers)
      up.set(backlog ? 1 : 0)
      if (backlog) showBacklog(backlog, now)
      else hideBacklog()
    },
  }
}

const secondsSince = (then: Instant | undefined, now: Instant): number =>
  then === undefined ? 0 : Math.max(0, now - then) / 1_000
