import type { Fault, History } from './history.js'

/** The faults that could have touched what went on between the two moments, `slackMs` before and after included. */
export const faultsAround = (
  { faults }: History,
  from: number,
  to: number,
  slackMs: number,
): Fault[] => faults.filter(({ at, until }) => at <= to + slackMs && until >= from - slackMs)

/** How far two clocks of the service may have been apart: stored times can be wrong by so much. */
export function skewOf({ faults }: History): number {
  const jumps = faults.map(({ byMs = 0 }) => byMs)
  return Math.max(0, ...jumps) - Math.min(0, ...jumps)
}
