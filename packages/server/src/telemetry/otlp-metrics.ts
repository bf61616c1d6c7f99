import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  InstrumentType,
  PeriodicExportingMetricReader,
  type MetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics'
import { closing, sometimes } from './otlp-failures.js'
import { serviceResource } from './otlp-resource.js'
import { metricTimesOf } from './otlp-variables.js'

export type MetricExport = {
  readonly reader: MetricReader
  readonly resource: Resource
  /** Calls `refresh` before each export. It shows the present state in the gauges. */
  follow(refresh: () => Promise<void>): void
  /** Sends the metrics once more, for at most two seconds. Never rejects. */
  close(): Promise<void>
}

/**
 * Exports metrics over OTLP/HTTP in JSON, as the `OTEL_*` variables say. Calls `onFailure` after a
 * failed export, at most once a minute. Throws an OperatorError for a variable that is not valid.
 */
export function exportMetrics(onFailure: (reason: string) => void): MetricExport {
  const exporter = reporting(new OTLPMetricExporter(), sometimes(onFailure))
  const reader = new FollowingReader({ ...metricTimesOf(process.env), exporter })
  return {
    reader,
    resource: serviceResource(),
    follow: (refresh) => {
      reader.refresh = refresh
    },
    close: () => closing(() => reader.shutdown()),
  }
}

class FollowingReader extends PeriodicExportingMetricReader {
  refresh = async (): Promise<void> => undefined

  override async collect(
    ...options: Parameters<PeriodicExportingMetricReader['collect']>
  ): ReturnType<PeriodicExportingMetricReader['collect']> {
    await this.refresh()
    return super.collect(...options)
  }
}

const reporting = (
  exporter: OTLPMetricExporter,
  onFailure: (error: Error | undefined) => void,
): PushMetricExporter => ({
  export: (metrics, done) =>
    exporter.export(metrics, (result) => {
      onFailure(result.error)
      done(result)
    }),
  // A cumulative gauge would keep a series that was cleared.
  selectAggregationTemporality: (type) =>
    type === InstrumentType.OBSERVABLE_GAUGE
      ? AggregationTemporality.DELTA
      : exporter.selectAggregationTemporality(type),
  forceFlush: () => exporter.forceFlush(),
  shutdown: () => exporter.shutdown(),
})
