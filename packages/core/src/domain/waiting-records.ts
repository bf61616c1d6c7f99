const LEAST = 4
const MOST = 128

/**
 * The number of records of attempts that a store collects at most before it writes them. A crash
 * repeats what is not written, so few requests in flight allow few records: a crash then repeats
 * the requests in flight, the records of one write, and the records that this number allows.
 */
export const mostWaitingRecords = (inFlight: number): number =>
  Math.min(Math.max(LEAST, 2 * inFlight), MOST)
