import { given } from '@org/agent-messaging-core/runtime'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type BatchSpanProcessorOptions,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import type { Variables } from '../settings/config.js'
import { OperatorError } from '../operator-error.js'

/** The longest time of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Returns the sampler of `OTEL_TRACES_SAMPLER`. Throws an OperatorError for an unknown name. */
export function samplerOf(variables: Variables): Sampler {
  const name = variables['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on'
  const root = ROOTS.get(name.replace(PARENT_BASED, ''))?.(variables)
  if (!root) {
    const names = [...ROOTS.keys()].flatMap((each) => [each, `parentbased_${each}`])
    throw new OperatorError(`OTEL_TRACES_SAMPLER must be one of ${names.join(', ')}`, 2)
  }
  return PARENT_BASED.test(name) ? new ParentBasedSampler({ root }) : root
}

const PARENT_BASED = /^parentbased_/
const ROOTS = new Map<string, (variables: Variables) => Sampler>([
  ['always_on', () => new AlwaysOnSampler()],
  ['always_off', () => new AlwaysOffSampler()],
  ['traceidratio', (variables) => new TraceIdRatioBasedSampler(ratioOf(variables))],
])

const ratioOf = (variables: Variables) =>
  numberOf(variables, 'OTEL_TRACES_SAMPLER_ARG', { least: 0, most: 1 }) ?? 1

/** Returns the `OTEL_BSP_*` variables. Throws an OperatorError if a value is not a number. */
export function batchOf(variables: Variables): Omit<BatchSpanProcessorOptions, 'exporter'> {
  return given({
    scheduledDelayMillis: numberOf(variables, 'OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: numberOf(variables, 'OTEL_BSP_EXPORT_TIMEOUT'),
    maxQueueSize: numberOf(variables, 'OTEL_BSP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: numberOf(variables, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  })
}

/** Returns the times of the metrics export. Throws an OperatorError if one is not a number. */
export function metricTimesOf(variables: Variables) {
  const least1 = { least: 1, most: MAX_TIMER_MS }
  const interval = numberOf(variables, 'OTEL_METRIC_EXPORT_INTERVAL', least1) ?? 60_000
  const timeout = numberOf(variables, 'OTEL_METRIC_EXPORT_TIMEOUT', least1) ?? 30_000
  // The reader refuses a longer timeout.
  return { exportIntervalMillis: interval, exportTimeoutMillis: Math.min(interval, timeout) }
}

function numberOf(
  variables: Variables,
  name: string,
  { least, most } = { least: 0, most: MAX_TIMER_MS },
): number | undefined {
  const text = variables[name]?.trim()
  if (!text) return undefined
  const value = Number(text)
  if (value >= least && value <= most) return value
  throw new OperatorError(`${name} must be a number from ${least} to ${most}`, 2)
}
