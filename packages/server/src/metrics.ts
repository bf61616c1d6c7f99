import type { MessagingService } from '@org/agent-messaging-core'
import type { Fact, Telemetry } from '@org/agent-messaging-core/runtime'
import type { MetricsText, RequestFacts } from '@org/agent-messaging-http'
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import { stateGauges } from './state-gauges.js'

/** Prometheus metrics of one server. Labels have few values each: never an id, a URL or a name of a customer's. */
export type Metrics = {
  readonly telemetry: Telemetry
  onRequest(facts: RequestFacts): void
  /** Everything, with the state of the storage and of this process as they are now. */
  read(service: Pick<MessagingService, 'backlog' | 'load' | 'now'>): Promise<MetricsText>
}

// Seconds. An attempt has 15 by default; a request may wait for its answer for minutes.
const ATTEMPT_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 15]
const RUN_BUCKETS = [0.01, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000]
const REQUEST_BUCKETS = [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100]

export function createMetrics(): Metrics {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register })
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter({ name: `agent_messaging_${name}_total`, help, labelNames, registers })
  const seconds = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    buckets: number[],
  ) =>
    new Histogram({ name: `agent_messaging_${name}_seconds`, help, labelNames, buckets, registers })

  const accepted = counter(
    'messages_accepted',
    'Sends, by whether they attached to an earlier message.',
    ['attached'],
  )
  const changed = counter('messages_changed', 'Messages that a caller cancelled or retried.', [
    'to',
  ])
  const runs = counter('runs', 'Runs that ended, by what became of the message.', ['state'])
  const runSeconds = seconds(
    'run_duration',
    'From the claim of a message to the record of its run.',
    ['state'],
    RUN_BUCKETS,
  )
  const attempts = counter('delivery_attempts', 'Attempts, by outcome and by status or error.', [
    'outcome',
    'class',
  ])
  const attemptSeconds = seconds(
    'delivery_attempt_duration',
    'One attempt, DNS and body included.',
    ['outcome'],
    ATTEMPT_BUCKETS,
  )
  const finished = counter('deliveries_finished', 'Deliveries that an attempt ended, by state.', [
    'state',
  ])
  const disabled = counter('webhooks_disabled', 'Webhooks disabled by their failures.')
  const lost = counter(
    'leases_lost',
    'Results that came after their lease was lost, and count for nothing.',
    ['of'],
  )
  const away = counter(
    'store_unavailable',
    'Times that the storage refused what a worker asked for.',
  )
  const failures = counter(
    'worker_failures',
    'Rounds of a worker that threw, and helpers of one that lost their connection or thread.',
    ['worker'],
  )
  const maintained = counter('maintained_rows', 'Rows that maintenance cancelled or purged.', [
    'what',
  ])
  const requests = counter('http_requests', 'Requests, by method, route and status.', [
    'method',
    'route',
    'status',
  ])
  const requestSeconds = seconds(
    'http_request_duration',
    'Requests, with the wait for an answer, by route.',
    ['route'],
    REQUEST_BUCKETS,
  )
  const state = stateGauges(register)

  function record(fact: Fact): void {
    switch (fact.name) {
      case 'message.accepted':
        return accepted.inc({ attached: labelOf(fact['attached']) })
      case 'message.cancelled':
        return changed.inc({ to: 'cancelled' })
      case 'message.retried':
        return changed.inc({ to: 'queued' })
      case 'run.finished':
        runSeconds.observe({ state: labelOf(fact['state']) }, Number(fact['durationMs']) / 1_000)
        return runs.inc({ state: labelOf(fact['state']) })
      case 'delivery.attempted':
        attempts.inc({ outcome: labelOf(fact['outcome']), class: classOf(fact) })
        attemptSeconds.observe(
          { outcome: labelOf(fact['outcome']) },
          Number(fact['durationMs']) / 1_000,
        )
        return fact['state'] === 'pending'
          ? undefined
          : finished.inc({ state: labelOf(fact['state']) })
      case 'run.refused':
        return lost.inc({ of: 'run' })
      case 'delivery.refused':
        return lost.inc({ of: 'attempt' })
      case 'webhook.disabled':
        return disabled.inc()
      case 'store.unavailable':
        return away.inc()
      case 'worker.failed':
        return failures.inc({ worker: labelOf(fact['worker']) })
      case 'maintenance.done':
        maintained.inc({ what: 'deliveries_cancelled' }, Number(fact['cancelled']))
        maintained.inc({ what: 'deliveries_purged' }, Number(fact['purgedDeliveries']))
        return maintained.inc({ what: 'messages_purged' }, Number(fact['purgedMessages']))
      case 'webhook.circuit':
      case 'agent.changed':
    }
  }

  return {
    telemetry: { record },
    onRequest: ({ method, route, status, durationMs }) => {
      requests.inc({ method, route, status: String(status) })
      requestSeconds.observe({ route }, durationMs / 1_000)
    },
    read: async (service) => {
      state.show(service.load(), (await service.backlog()).unwrapOr(undefined), service.now())
      return { contentType: register.contentType, text: await register.metrics() }
    },
  }
}

/** `2xx` to `5xx`, or the error that there was no status for. */
const classOf = ({ statusCode, error }: Fact): string =>
  typeof statusCode === 'number' ? `${Math.floor(statusCode / 100)}xx` : labelOf(error)

const labelOf = (value: Fact[string]): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null)
