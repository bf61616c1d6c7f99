import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace'
import { describe, expect, it } from 'vitest'
import { batchOf, metricTimesOf, samplerOf } from './otlp-variables.js'

const LOW = '00000000000000000000000000000001'
const HIGH = 'ffffffff000000000000000000000000'

const isSampled = (name: string, share: string, traceId: string, parentFlags?: number): boolean => {
  const sampler = samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share })
  const parent =
    parentFlags === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, {
          traceId,
          spanId: '00f067aa0ba902b7',
          traceFlags: parentFlags,
          isRemote: true,
        })
  const { decision } = sampler.shouldSample(parent, traceId, 'span', SpanKind.INTERNAL, {}, [])
  return decision === SamplingDecision.RECORD_AND_SAMPLED
}

describe('OTEL_TRACES_SAMPLER', () => {
  it.each([
    ['', '', HIGH, undefined, true],
    ['always_on', '', HIGH, 0, true],
    ['always_off', '', LOW, 1, false],
    ['traceidratio', '0.5', LOW, undefined, true],
    ['traceidratio', '0.5', HIGH, undefined, false],
    ['traceidratio', '0.5', HIGH, 1, false],
    ['parentbased_always_on', '', HIGH, 0, false],
    ['parentbased_always_off', '', LOW, 1, true],
    ['parentbased_always_off', '', LOW, undefined, false],
    ['parentbased_traceidratio', '0.5', HIGH, undefined, false],
    ['parentbased_traceidratio', '0.5', HIGH, 1, true],
  ])('%s with %s: trace %s with parent flags %s is sampled: %s', (name, share, id, flags, is) => {
    expect(isSampled(name, share, id, flags)).toBe(is)
  })

  it.each([
    ['sometimes', '', /OTEL_TRACES_SAMPLER must be one of always_on, parentbased_always_on/],
    ['traceidratio', 'half', /OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/],
    ['traceidratio', '1.5', /OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/],
  ])('refuses %s with %s', (name, share, message) => {
    expect(() => isSampled(name, share, LOW)).toThrow(message)
  })
})

describe('OTEL_BSP_*', () => {
  it('gives the options of the batches', () => {
    expect(batchOf({ OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_BSP_MAX_QUEUE_SIZE: ' 10 ' })).toEqual({
      scheduledDelayMillis: 50,
      maxQueueSize: 10,
    })
  })

  it('refuses a value that is not a number', () => {
    expect(() => batchOf({ OTEL_BSP_EXPORT_TIMEOUT: 'soon' })).toThrow(/OTEL_BSP_EXPORT_TIMEOUT/)
  })
})

describe('OTEL_METRIC_EXPORT_*', () => {
  it.each<[Record<string, string>, number, number]>([
    [{}, 60_000, 30_000],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '50' }, 50, 50],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '5000', OTEL_METRIC_EXPORT_TIMEOUT: '200' }, 5_000, 200],
  ])('%j gives the interval %s and the timeout %s', (variables, interval, timeout) => {
    const times = { exportIntervalMillis: interval, exportTimeoutMillis: timeout }
    expect(metricTimesOf(variables)).toEqual(times)
  })

  it('refuses 0', () => {
    const variables = { OTEL_METRIC_EXPORT_INTERVAL: '0' }
    expect(() => metricTimesOf(variables)).toThrow(/OTEL_METRIC_EXPORT_INTERVAL/)
  })
})
