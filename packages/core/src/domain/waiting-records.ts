const LEAST = 4
const MOST = 32

/**
 * The number of records of attempts that a store collects at most before it writes them. The next
 * records wait while these are written, so the sender goes on at the same speed.
 */
export const mostWaitingRecords = (inFlight: number): number =>
  Math.min(Math.max(LEAST, Math.floor(inFlight / 2)), MOST)
