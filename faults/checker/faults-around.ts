import type { Fault, History } from './history.js'

/** Returns the faults between the two times, extended by `slackMs` on both sides. */
export const faultsAround = (
  { faults }: History,
  from: number,
  to: number,
  slackMs: number,
): Fault[] => faults.filter(({ at, until }) => at <= to + slackMs && until >= from - slackMs)

/** Returns the largest difference between two clocks of the service, and so of two stored times. */
export function skewOf({ faults }: History): number {
  const jumps = faults.map(({ byMs = 0 }) => byMs)
  return Math.max(0, ...jumps) - Math.min(0, ...jumps)
}
