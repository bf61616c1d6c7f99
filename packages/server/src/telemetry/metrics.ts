import type { MessagingService } from '@org/agent-messaging-core'
import type { Telemetry } from '@org/agent-messaging-core/runtime'
import type { MetricsText, RequestFacts } from '@org/agent-messaging-http'
import { factMetrics } from './fact-metrics.js'
import { instruments } from './instruments.js'
import type { MetricExport } from './otlp-metrics.js'
import { processMetrics } from './process-metrics.js'
import { PrometheusText } from './prometheus-text.js'
import { stateGauges } from './state-gauges.js'

/** Prometheus metrics of one server. Labels have few values: no ids, URLs or customers' names. */
export type Metrics = {
  readonly telemetry: Telemetry
  onRequest(facts: RequestFacts): void
  /** All metrics, with gauges for the present state of the storage and of this process. */
  read(service: Observed): Promise<MetricsText>
  /** Shows the state of this service in each export. */
  follow(service: Observed): void
  /** Ends the export. Never rejects. */
  close(): Promise<void>
}

type Observed = Pick<MessagingService, 'backlog' | 'load' | 'now'>

const REQUEST_BUCKETS = [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100]

/** `exported` also sends the metrics elsewhere. */
export function createMetrics(exported?: MetricExport): Metrics {
  const prometheus = new PrometheusText(exported)
  const make = instruments(prometheus.meter, 'agent_messaging_')
  const makeOfProcess = instruments(prometheus.meter, '')
  const telemetry = factMetrics(make)
  const requests = make.counter('http_requests', 'Requests, by method, route and status.', [
    'method',
    'route',
    'status',
  ])
  const requestSeconds = make.histogram<'route'>(
    'http_request_duration',
    'Duration of requests, including the wait for an answer, by route.',
    REQUEST_BUCKETS,
  )
  const state = stateGauges(make)
  const ofProcess = processMetrics(makeOfProcess)
  async function refresh(service: Observed) {
    state.show(service.load(), (await service.backlog()).unwrapOr(undefined), service.now())
    ofProcess.show()
  }
  const declared = [...make.declared, ...makeOfProcess.declared]
  return {
    telemetry,
    onRequest: ({ method, route, status, durationMs }) => {
      requests.inc({ method, route, status: String(status) })
      requestSeconds.observe({ route }, durationMs / 1_000)
    },
    follow: (service) => exported?.follow(() => refresh(service)),
    close: async () => exported?.close(),
    read: async (service) => {
      await refresh(service)
      return { contentType: prometheus.contentType, text: await prometheus.read(declared) }
    },
  }
}
