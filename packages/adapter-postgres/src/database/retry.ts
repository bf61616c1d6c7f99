import { codeOf, LOCK_NOT_AVAILABLE } from './errors.js'

/**
 * SQLSTATEs after which the whole operation runs again: serialization failure, deadlock, and unique
 * violation. After a unique violation the next run finds the row that another transaction inserted.
 */
const RUN_AGAIN: readonly (string | undefined)[] = ['40001', '40P01', '23505']
const MAX_RUNS = 5

/**
 * Runs an operation again after a conflict, and up to `maxLockFailures` times after a held lock.
 */
export async function retried<T>(run: () => Promise<T>, maxLockFailures = 0): Promise<T> {
  let runs = 1
  let lockFailures = 0
  for (;;) {
    try {
      return await run()
    } catch (error) {
      const code = codeOf(error)
      if (code === LOCK_NOT_AVAILABLE && lockFailures < maxLockFailures) {
        lockFailures++
        continue
      }
      if (!RUN_AGAIN.includes(code) || runs === MAX_RUNS) throw error
      runs++
    }
  }
}
