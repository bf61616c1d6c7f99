import type { Fact, Telemetry } from '@org/agent-messaging-core/runtime'
import type { Instruments } from './instruments.js'

type Handlers<Name extends Fact['name']> = Readonly<Record<Name, (fact: Fact) => void>>

const ATTEMPT_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 15]
const RUN_BUCKETS = [0.01, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000]

/** Each agent is a series of some counters, so their number has a limit. */
const MAX_AGENTS = 50

/** Counts the facts that the service reports to its telemetry port. */
export function factMetrics(make: Instruments): Telemetry {
  const handlers: Handlers<Fact['name']> = {
    ...messageHandlers(make),
    ...deliveryHandlers(make),
    ...serviceHandlers(make),
    'webhook.circuit': () => undefined,
    'webhook.waiting': () => undefined,
    'agent.changed': () => undefined,
    'agent.settings_kept': () => undefined,
    'agent.undeclared': () => undefined,
    'listener.failed': () => undefined,
    'listener.expired': () => undefined,
    'secret.unsealable': () => undefined,
    'recovery.finished': () => undefined,
    'work.taken_over': () => undefined,
    'clock.corrected': () => undefined,
    'clock.jumped': () => undefined,
    'answer.shortened': () => undefined,
    'part.dropped': () => undefined,
  }
  return { record: (fact) => handlers[fact.name](fact) }
}

function messageHandlers({
  counter,
  histogram,
}: Instruments): Handlers<
  | 'message.accepted'
  | 'message.cancelled'
  | 'message.retried'
  | 'event.published'
  | 'run.finished'
  | 'input.changed'
> {
  const accepted = counter(
    'messages_accepted',
    'Sends, by whether they attached to an earlier message.',
    ['attached', 'agent'],
  )
  const published = counter('events_published', 'Events that a host published.', [])
  const changed = counter('messages_changed', 'Messages that a caller cancelled or retried.', [
    'to',
  ])
  const inputs = counter(
    'inputs_changed',
    'Questions of agents that were answered, withdrawn, reminded of, or have expired.',
    ['to'],
  )
  const runs = counter('runs', 'Ended runs, by the resulting state of the message, or lost.', [
    'state',
    'agent',
  ])
  const runSeconds = histogram<'state'>(
    'run_duration',
    'Time from the claim of a message until its run was stored.',
    RUN_BUCKETS,
  )
  const agentOf = agentLabels()
  return {
    'message.accepted': ({ attached, agentName }) =>
      accepted.inc({ attached: labelOf(attached), agent: agentOf(agentName) }),
    'event.published': ({ events }) => published.inc({}, Number(events)),
    'message.cancelled': () => changed.inc({ to: 'cancelled' }),
    'message.retried': () => changed.inc({ to: 'queued' }),
    'input.changed': ({ to }) => inputs.inc({ to: labelOf(to) }),
    'run.finished': ({ state: after, durationMs, agentName, isRun }) => {
      // A message whose last run was lost ends without a run.
      const isLost = isRun === false
      const state = isLost ? 'lost' : labelOf(after)
      runs.inc({ state, agent: agentOf(agentName) })
      if (!isLost) runSeconds.observe({ state }, Number(durationMs) / 1_000)
    },
  }
}

/** Returns the name of one of the first agents, and `other` for the rest. */
function agentLabels(): (name: Fact[string]) => string {
  const names = new Set<string>()
  return (given) => {
    const name = labelOf(given)
    if (names.size < MAX_AGENTS) names.add(name)
    return names.has(name) ? name : 'other'
  }
}

function deliveryHandlers({
  counter,
  histogram,
}: Instruments): Handlers<'delivery.attempted' | 'webhook.disabled'> {
  const attempts = counter(
    'delivery_attempts',
    'Delivery attempts, by outcome and by status class or error.',
    ['outcome', 'class'],
  )
  const attemptSeconds = histogram<'outcome'>(
    'delivery_attempt_duration',
    'Duration of an attempt, including DNS and the response body.',
    ATTEMPT_BUCKETS,
  )
  const finished = counter('deliveries_finished', 'Deliveries that an attempt ended, by state.', [
    'state',
  ])
  const disabled = counter('webhooks_disabled', 'Webhooks disabled because of failures.')
  return {
    'delivery.attempted': (fact) => {
      const { state, durationMs } = fact
      const outcome = labelOf(fact['outcome'])
      attempts.inc({ outcome, class: classOf(fact) })
      attemptSeconds.observe({ outcome }, Number(durationMs) / 1_000)
      if (state !== 'pending') finished.inc({ state: labelOf(state) })
    },
    'webhook.disabled': () => disabled.inc(),
  }
}

function serviceHandlers({
  counter,
}: Instruments): Handlers<
  'run.refused' | 'delivery.refused' | 'store.unavailable' | 'worker.failed' | 'maintenance.done'
> {
  const lost = counter('leases_lost', 'Results that were discarded because their lease was lost.', [
    'of',
  ])
  const unavailable = counter(
    'store_unavailable',
    'Requests of a worker that the storage could not serve.',
  )
  const failures = counter(
    'worker_failures',
    'Exceptions in a worker, and lost connections or threads of its helpers.',
    ['worker'],
  )
  const maintained = counter('maintained_rows', 'Rows that maintenance cancelled or deleted.', [
    'what',
  ])
  return {
    'run.refused': () => lost.inc({ of: 'run' }),
    'delivery.refused': () => lost.inc({ of: 'attempt' }),
    'store.unavailable': () => unavailable.inc(),
    'worker.failed': ({ worker }) => failures.inc({ worker: labelOf(worker) }),
    'maintenance.done': ({ cancelled, purgedDeliveries, purgedMessages }) => {
      maintained.inc({ what: 'deliveries_cancelled' }, Number(cancelled))
      maintained.inc({ what: 'deliveries_purged' }, Number(purgedDeliveries))
      maintained.inc({ what: 'messages_purged' }, Number(purgedMessages))
    },
  }
}

/** `2xx` to `5xx`, `429`, or the error of an attempt without a response. */
function classOf({ statusCode, error }: Fact) {
  if (typeof statusCode !== 'number') return labelOf(error)
  return statusCode === 429 ? '429' : `${Math.floor(statusCode / 100)}xx`
}

const labelOf = (value: Fact[string]) =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null)
