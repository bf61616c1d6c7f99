import { ResultAsync } from 'neverthrow'
import type { ReadsByCode, SharedReads } from '../platform.js'
import type { Clock } from '../ports/platform.js'
import { TurnQueue, type TurnLimits } from './turn-queue.js'

/** A read on SQLite blocks the event loop, so sends get their turn after this time of reads. */
const LIMITS = { places: 4, turnMs: 4, maxWaiting: 5_000, maxWaitMs: 5_000 }

/** Returns a function that makes a read wait for its turn among the reads of all projects. */
export function sharedReads(clock: Clock, limits: TurnLimits = LIMITS): SharedReads {
  const queue = new TurnQueue(clock, limits)
  return (read) => (input) => {
    const { projectId = '', abort } = input
    const turn = { group: projectId, caller: abort }
    return new ResultAsync(queue.run(turn, () => read(input)))
  }
}

const BY_CODE = { places: 8, maxWaiting: 1_000, maxWaitMs: 5_000 }

/** Returns a function that runs at most eight reads by link or code at once. */
export function readsByCode(clock: Clock): ReadsByCode {
  const queue = new TurnQueue(clock, BY_CODE)
  return (read) => new ResultAsync(queue.run({ group: '' }, read))
}
