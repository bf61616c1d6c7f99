import type { Dial } from './dial.js'
import { unreachable, type Unreachable } from './fault.js'
import { OriginPool } from './origin-pool.js'

export type OriginLimits = { readonly connectionsPerOrigin: number; readonly maxOrigins: number }

const UNUSED = unreachable('reset', 'the connection was not used any more')

/** A pool for each origin. To stay within `maxOrigins` the longest unused are closed; one with requests under way never is. */
export function originPools(dial: Dial, { connectionsPerOrigin, maxOrigins }: OriginLimits) {
  const pools = new Map<string, OriginPool>()

  function makeRoom(): void {
    for (const [origin, pool] of pools) {
      if (pools.size < maxOrigins) return
      if (!pool.isIdle) continue
      pools.delete(origin)
      void pool.close(UNUSED)
    }
  }

  function open(origin: string): OriginPool {
    makeRoom()
    return new OriginPool(origin, dial, connectionsPerOrigin)
  }

  return {
    /** The pool of `origin`, which is now the last used. */
    use(origin: string): OriginPool {
      const pool = pools.get(origin) ?? open(origin)
      pools.delete(origin)
      pools.set(origin, pool)
      return pool
    },
    async close(outcome: Unreachable): Promise<void> {
      await Promise.all([...pools.values()].map((pool) => pool.close(outcome)))
    },
  }
}
