import type {
  Tracing,
  ActiveSpan,
  SpanDetails,
  TraceContext,
} from '@org/agent-messaging-core/runtime'
import {
  context,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
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

const KINDS = {
  'message.send': SpanKind.PRODUCER,
  'event.publish': SpanKind.PRODUCER,
  'agent.run': SpanKind.CLIENT,
  'delivery.attempt': SpanKind.CLIENT,
  'store.commit': SpanKind.INTERNAL,
} as const

/** Details that have a name in OpenTelemetry's conventions. The others get a prefix. */
const STANDARD_NAMES: Readonly<Record<string, string>> = {
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  sessionId: 'gen_ai.conversation.id',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  messageId: 'messaging.message.id',
  statusCode: 'http.response.status_code',
  error: 'error.type',
}

/** The convention has a name for OpenAI only. A server that is compatible counts as OpenAI. */
const providerOf = (runtime: unknown): string => (runtime === 'openai' ? 'openai' : SERVICE)

/** Makes a span of `tracer` for each span of the service. */
export const openTelemetryTracing = (tracer: Tracer): Tracing => ({
  start({ name, parent, details }) {
    const isRun = name === 'agent.run'
    const attributes = attributesOf(details)
    if (isRun) {
      attributes['gen_ai.operation.name'] = 'invoke_agent'
      attributes['gen_ai.provider.name'] = providerOf(details['runtime'])
    }
    const span = tracer.startSpan(
      isRun ? `invoke_agent ${String(details['agentName'])}` : name,
      { kind: KINDS[name], attributes },
      parent ? trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)) : ROOT_CONTEXT,
    )
    const active: ActiveSpan = {
      trace: traceOf(span.spanContext()),
      within: (work) => context.with(trace.setSpan(context.active(), span), work),
      link: (other) => void span.addLink({ context: contextOf(other) }),
      end: (more = {}) => {
        span.setAttributes(attributesOf(more))
        if (more['error'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
    return active
  },
})

function attributesOf(details: SpanDetails): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(details))
    if (value !== undefined) attributes[STANDARD_NAMES[name] ?? ownName(name)] = value
  return attributes
}

const ownName = (name: string) =>
  `agent_messaging.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

function contextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  }
}

function traceOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const tracestate = traceState?.serialize() ?? ''
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    ...(tracestate !== '' && { tracestate }),
  }
}
