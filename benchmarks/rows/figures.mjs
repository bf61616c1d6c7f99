export const count = (n) => Math.round(n).toLocaleString('en-US')
export const ms = (n) => (n < 10 ? n.toFixed(2) : n.toFixed(0))
export const MiB = 2 ** 20

/** Operations per second, and their share of the floor. */
export const rate = {
  figure: ({ perSecond }) => `${count(perSecond)}/s`,
  ratio: ({ ours, floor }) => (ours.perSecond / floor.perSecond).toFixed(2),
}

/** Latencies, as multiples of the floor. */
export const latency = {
  figure: ({ p50, p99 }) => `${ms(p50)} ms, p99 ${ms(p99)} ms`,
  ratio: ({ ours, floor }) =>
    `${(ours.p50 / floor.p50).toFixed(2)} ×, p99 ${(ours.p99 / floor.p99).toFixed(2)} ×`,
}

/** CPU of the server, and of its database if that is another process. */
export const costs = ({ cpuMicros, ofDatabase }) =>
  `${count(cpuMicros)} µs${ofDatabase === 0 ? '' : `, database ${count(ofDatabase)} µs`}`
export const allMicros = ({ cpuMicros, ofDatabase }) => cpuMicros + ofDatabase

/** Returns the value below which a share of the values is. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}
export const median = (values) => quantile(values, 0.5)

/** Returns percentiles of times in ms. */
export const percentiles = (times) => ({ p50: median(times), p99: quantile(times, 0.99) })

/** Returns the usage of a process between two measurements. `busy` is the share of a core. */
export function usageBetween(before, after, operations) {
  const cpuMicros = after.cpuMicros - before.cpuMicros
  return {
    cpuMicros: cpuMicros / operations,
    rss: after.rss,
    busy: cpuMicros / 1_000 / (after.at - before.at),
  }
}
