import type { Tracing } from '@org/agent-messaging-core/runtime'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import { openTelemetryTracing } from './open-telemetry-tracing.js'
import { closing, sometimes } from './otlp-failures.js'
import { SERVICE, serviceResource } from './otlp-resource.js'
import { batchOf, samplerOf } from './otlp-variables.js'
import { version } from '../version.js'

export type TraceExport = {
  readonly tracing: Tracing
  /** Sends the remaining spans, for at most two seconds. Never rejects. */
  close(): Promise<void>
}

/**
 * Exports spans over OTLP/HTTP in JSON, as the `OTEL_*` variables say. Calls `onFailure` after a
 * failed export, at most once a minute. Throws an OperatorError for a variable that is not valid.
 */
export function exportTraces(onFailure: (reason: string) => void): TraceExport {
  const exporter = reporting(new OTLPTraceExporter(), sometimes(onFailure))
  const provider = new TracerProvider({
    resource: serviceResource(),
    sampler: samplerOf(process.env),
    spanProcessors: [new BatchSpanProcessor({ ...batchOf(process.env), exporter })],
  })
  // A program of the operator can have set its own. Both carry the active span.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return {
    tracing: openTelemetryTracing(provider.getTracer(SERVICE, version)),
    close: () => closing(() => provider.shutdown()),
  }
}

const reporting = (
  exporter: SpanExporter,
  onFailure: (error: Error | undefined) => void,
): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      onFailure(result.error)
      done(result)
    }),
  shutdown: () => exporter.shutdown(),
})
