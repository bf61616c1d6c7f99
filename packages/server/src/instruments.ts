import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Creates Prometheus instruments in one registry, under the prefix `agent_messaging_`. */
export const instruments = (register: Registry) => ({
  counter: <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter({
      name: `agent_messaging_${name}_total`,
      help,
      labelNames,
      registers: [register],
    }),
  /** The name gets the suffix `_seconds`, and `buckets` are seconds. */
  histogram: <L extends string>(name: string, help: string, labelNames: L[], buckets: number[]) =>
    new Histogram({
      name: `agent_messaging_${name}_seconds`,
      help,
      labelNames,
      buckets,
      registers: [register],
    }),
  gauge: <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `agent_messaging_${name}`, help, labelNames, registers: [register] }),
})

export type Instruments = ReturnType<typeof instruments>
