import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import type { Ids } from '../ports/platform.js'

const RANDOM_BYTES = 16
const IDS_A_DRAW = 128

/**
 * Draws the random parts of many ids at once: one draw per id would cost ten times as much as the
 * rest.
 */
export function uuidV7(): Ids {
  const pool = Buffer.alloc(RANDOM_BYTES * IDS_A_DRAW)
  let used = pool.length
  let msecs = -Infinity
  let seq = 0

  function drawn(): Buffer {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += RANDOM_BYTES
    return pool.subarray(used - RANDOM_BYTES, used)
  }

  return {
    next() {
      const random = drawn()
      const now = Date.now()
      // 31 random bits leave room for the ids of a millisecond. A clock that was set back creates
      // no smaller id.
      seq = now > msecs ? random.readUInt32BE() >>> 1 : seq + 1
      msecs = Math.max(now, msecs)
      return v7({ random, msecs, seq })
    },
  }
}
