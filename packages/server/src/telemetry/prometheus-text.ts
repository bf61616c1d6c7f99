import type { Meter } from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  InstrumentType,
  MeterProvider,
  MetricReader,
} from '@opentelemetry/sdk-metrics'
import type { Instrument } from './instruments.js'
import type { MetricExport } from './otlp-metrics.js'

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
export class PrometheusText {
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
