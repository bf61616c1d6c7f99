import type { MessagingService } from '@org/agent-messaging-core'
import type { Telemetry } from '@org/agent-messaging-core/runtime'
import { orUndefined } from '@org/agent-messaging-core/host'
import type { MetricsText, RequestFacts } from '@org/agent-messaging-adapter-http'
import { factMetrics } from './fact-metrics.js'
import { instruments, type Instruments, type Instrument } from './instruments.js'
import type { MetricExport } from './otlp-metrics.js'
import { stateGauges } from './state-gauges.js'
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Meter } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  InstrumentType,
  MeterProvider,
  MetricReader,
} from '@opentelemetry/sdk-metrics'

/** Prometheus metrics of one server. Labels have few values: no ids, URLs or end users. */
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

type Observed = Pick<MessagingService, 'backlog'> & {
  readonly host: Pick<MessagingService['host'], 'load' | 'now'>
}

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
    state.show(service.host.load(), await orUndefined(service.backlog()), service.host.now())
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

const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

/** The process and its event loop, under the names that Node's Prometheus clients share. */
function processMetrics({ counter, gauge }: Instruments) {
  const cpu = counter('process_cpu_seconds', 'CPU time of the process, user and system.')
  const started = gauge('process_start_time_seconds', 'Start of the process, in Unix time.')
  const resident = gauge('process_resident_memory_bytes', 'Resident memory of the process.')
  const files = gauge('process_open_fds', 'Open file descriptors, on Linux.')
  const heapUsed = gauge('nodejs_heap_size_used_bytes', 'Used size of the heap.')
  const heapTotal = gauge('nodejs_heap_size_total_bytes', 'Size of the heap.')
  const external = gauge('nodejs_external_memory_bytes', 'Memory outside the heap.')
  const showLag = eventLoopLag(gauge)
  let countedCpu = 0

  return {
    show(): void {
      const { user, system } = process.cpuUsage()
      const cpuSeconds = (user + system) / MICROSECONDS
      cpu.inc({}, cpuSeconds - countedCpu)
      countedCpu = cpuSeconds
      const memory = process.memoryUsage()
      resident.set(memory.rss)
      heapUsed.set(memory.heapUsed)
      heapTotal.set(memory.heapTotal)
      external.set(memory.external)
      started.set(performance.timeOrigin / 1_000)
      const openFiles = countOpenFiles()
      if (openFiles !== undefined) files.set(openFiles)
      showLag()
    },
  }
}

/** The delays of the event loop since the last call. */
function eventLoopLag(gauge: Instruments['gauge']): () => void {
  const p50 = gauge('nodejs_eventloop_lag_p50_seconds', 'Median delay of the event loop.')
  const p99 = gauge('nodejs_eventloop_lag_p99_seconds', '99th percentile of these delays.')
  const max = gauge('nodejs_eventloop_lag_max_seconds', 'Longest of these delays.')
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  return () => {
    p50.set(delays.percentile(50) / NANOSECONDS)
    p99.set(delays.percentile(99) / NANOSECONDS)
    max.set(delays.max / NANOSECONDS)
    delays.reset()
  }
}

function countOpenFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

/** Collects metrics only when they are read. */
class Snapshots extends MetricReader {
  constructor() {
    // A cumulative gauge would keep a series that was cleared.
    const { CUMULATIVE, DELTA } = AggregationTemporality
    super({
      aggregationTemporalitySelector: (type) =>
        type === InstrumentType.OBSERVABLE_GAUGE ? DELTA : CUMULATIVE,
    })
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve()
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
}

/** A meter whose metrics are read as Prometheus text, without labels of OpenTelemetry. */
class PrometheusText {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  readonly meter: Meter
  readonly #reader = new Snapshots()
  readonly #serializer = new PrometheusSerializer('', false, undefined, true, true)

  /** A metric export has a reader of its own. */
  constructor(more?: Pick<MetricExport, 'reader' | 'resource'>) {
    const readers = [this.#reader, ...(more ? [more.reader] : [])]
    const provider = new MeterProvider({ readers, ...(more && { resource: more.resource }) })
    this.meter = provider.getMeter('agent-messaging')
  }

  /** The serializer omits an instrument without values. Its name and type are added. */
  async read(declared: readonly Instrument[]): Promise<string> {
    const { resourceMetrics } = await this.#reader.collect()
    const text = this.#serializer.serialize(resourceMetrics)
    const missing = declared
      .filter(({ name }) => !text.includes(`# TYPE ${name} `))
      .map(({ name, help, kind }) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`)
    return text + missing.join('')
  }
}
