import { expect, it } from 'vitest'
import { asksForMetrics, asksForTraces } from './otlp-setting.js'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }

it.each<[Record<string, string>, boolean]>([
  [{}, false],
  [ENDPOINT, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
  [{ OTEL_TRACES_EXPORTER: 'console, otlp' }, true],
  [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, false],
  [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }, false],
])('%j asks for traces: %s', (variables, asks) => expect(asksForTraces(variables)).toBe(asks))

it.each<[Record<string, string>, boolean]>([
  [{}, false],
  [ENDPOINT, false],
  [{ OTEL_METRICS_EXPORTER: 'otlp' }, true],
  [{ OTEL_METRICS_EXPORTER: 'prometheus' }, false],
  [{ OTEL_METRICS_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'TRUE' }, false],
])('%j asks for metrics: %s', (variables, asks) => expect(asksForMetrics(variables)).toBe(asks))

it('an endpoint and a protocol of metrics are checked', () => {
  const asked = { OTEL_METRICS_EXPORTER: 'otlp' }
  const endpoint = { ...asked, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'collector:4318' }
  expect(() => asksForMetrics(endpoint)).toThrow(/^OTEL_EXPORTER_OTLP_METRICS_ENDPOINT must be/)
  const protocol = { ...asked, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'grpc' }
  expect(() => asksForMetrics(protocol)).toThrow(/METRICS_PROTOCOL cannot be grpc/)
})

it.each<[Record<string, string>, string]>([
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL that starts with http:// or https://',
  ],
  [
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'no address' },
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be a URL that starts with http:// or https://',
  ],
  [
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_PROTOCOL cannot be grpc: the export sends JSON over HTTP',
  ],
])('%j is refused', (variables, message) => expect(() => asksForTraces(variables)).toThrow(message))
