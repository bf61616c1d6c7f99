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

/** Returns percentiles of times in ms. */
export function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p99: at(0.99) }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Returns the usage of a process between two measurements. `busy` is the share of a core. */
export function usageBetween(before, after, operations) {
  const cpuMicros = after.cpuMicros - before.cpuMicros
  return {
    cpuMicros: cpuMicros / operations,
    rss: after.rss,
    busy: cpuMicros / 1_000 / (after.at - before.at),
  }
}
