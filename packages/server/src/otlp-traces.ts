import type { Tracing } from '@org/agent-messaging-core/runtime'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import { setTimeout as delay } from 'node:timers/promises'
import { openTelemetryTracing, SERVICE } from './open-telemetry-tracing.js'
import { batchOf, samplerOf } from './otlp-variables.js'
import { version } from './version.js'

export type TraceExport = {
  readonly tracing: Tracing
  /** Sends the remaining spans, for at most two seconds. Never rejects. */
  close(): Promise<void>
}

const CLOSING_MS = 2_000
const BETWEEN_REPORTS_MS = 60_000

/**
 * Exports spans over OTLP/HTTP in JSON, as the `OTEL_*` variables say. Calls `onFailure` after a
 * failed export, at most once a minute. Throws an OperatorError for a variable that is not valid.
 */
export function exportTraces(onFailure: (reason: string) => void): TraceExport {
  const exporter = reporting(new OTLPTraceExporter(), onFailure)
  const named = resourceFromAttributes({ 'service.name': SERVICE })
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(named)
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(process.env),
    spanProcessors: [new BatchSpanProcessor({ ...batchOf(process.env), exporter })],
  })
  // A program of the operator can have set its own. Both carry the active span.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return {
    tracing: openTelemetryTracing(provider.getTracer(SERVICE, version)),
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
