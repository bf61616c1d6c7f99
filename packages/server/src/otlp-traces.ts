import type { Tracing } from '@org/agent-messaging-core/runtime'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import { setTimeout as delay } from 'node:timers/promises'
import { openTelemetryTracing } from './open-telemetry-tracing.js'
import { version } from './version.js'

export type TraceExport = {
  readonly tracing: Tracing
  /** Sends the remaining spans, for at most two seconds. Never rejects. */
  close(): Promise<void>
}

const CLOSING_MS = 2_000
const BETWEEN_REPORTS_MS = 60_000

/**
 * Exports spans over OTLP/HTTP in JSON. The packages read the `OTEL_*` variables. Calls
 * `onFailure` after a failed export, at most once a minute.
 */
export function exportTraces(onFailure: (reason: string) => void): TraceExport {
  const exporter = reporting(new OTLPTraceExporter(), onFailure)
  const named = resourceFromAttributes({ 'service.name': 'agent-messaging' })
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(named)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  return {
    tracing: openTelemetryTracing(provider.getTracer('agent-messaging', version)),
    close: async () => {
      const limit = delay(CLOSING_MS, undefined, { ref: false })
      await Promise.race([provider.shutdown().catch(() => undefined), limit])
    },
  }
}

function reporting(exporter: SpanExporter, onFailure: (reason: string) => void): SpanExporter {
  let silentUntil = -Infinity
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const now = performance.now()
        if (result.error && now >= silentUntil) {
          silentUntil = now + BETWEEN_REPORTS_MS
          onFailure(result.error.message)
        }
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
