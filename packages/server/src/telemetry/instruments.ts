import type { Attributes, Meter } from '@opentelemetry/api'

export type Instrument = {
  readonly name: string
  readonly help: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
}

/** Creates instruments of one meter. Their names start with `prefix`. */
export function instruments(meter: Meter, prefix: string) {
  const declared: Instrument[] = []
  function declare(kind: Instrument['kind'], name: string, help: string) {
    declared.push({ name: prefix + name, help, kind })
    return prefix + name
  }
  return {
    declared,
    /** The name gets the suffix `_total`. A counter without labels starts at 0. */
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) => {
      const full = declare('counter', `${name}_total`, help)
      const counter = meter.createCounter(full, { description: help })
      if (labelNames.length === 0) counter.add(0)
      return {
        inc: (labels?: Readonly<Record<L, string>>, by = 1) => counter.add(by, labels),
      }
    },
    /** The name gets the suffix `_seconds`, and `buckets` are seconds. */
    histogram: <L extends string>(name: string, help: string, buckets: number[]) => {
      const histogram = meter.createHistogram(declare('histogram', `${name}_seconds`, help), {
        description: help,
        advice: { explicitBucketBoundaries: buckets },
      })
      return {
        observe: (labels: Readonly<Record<L, string>>, seconds: number) =>
          histogram.record(seconds, labels),
      }
    },
    gauge: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) => {
      const series = new Map<string, { readonly value: number; readonly labels: Attributes }>()
      const options = { description: help }
      meter.createObservableGauge(declare('gauge', name, help), options).addCallback((result) => {
        for (const { value, labels } of series.values()) result.observe(value, labels)
      })
      return {
        set: (value: number, given?: Readonly<Record<L, string>>) => {
          const labels: Attributes = given ?? {}
          series.set(JSON.stringify(labelNames.map((name) => labels[name])), { value, labels })
        },
        /** Until the next `set`, the metrics do not have the gauge. */
        clear: () => series.clear(),
      }
    },
  }
}

export type Instruments = ReturnType<typeof instruments>
