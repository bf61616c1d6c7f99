import type { Dial } from './dial.js'
import { unreachable, type Unreachable } from './fault.js'
import { OriginPool } from './origin-pool.js'

export type OriginLimits = { readonly connectionsPerOrigin: number; readonly maxOrigins: number }

const UNUSED = unreachable('reset', 'the connection was not used any more')

type Used = { readonly pool: OriginPool; lastUse: number }

/** A pool for each origin. To stay within `maxOrigins` the longest unused are closed; one with requests under way never is. */
export function originPools(dial: Dial, { connectionsPerOrigin, maxOrigins }: OriginLimits) {
  const pools = new Map<string, Used>()
  let uses = 0

  function makeRoom(): void {
    if (pools.size < maxOrigins) return
    const idle = [...pools]
      .filter(([, { pool }]) => pool.isIdle)
      .sort(([, a], [, b]) => a.lastUse - b.lastUse)
    for (const [origin, { pool }] of idle.slice(0, pools.size - maxOrigins + 1)) {
      pools.delete(origin)
      void pool.close(UNUSED)
    }
  }

  function open(origin: string): Used {
    makeRoom()
    const opened = { pool: new OriginPool(origin, dial, connectionsPerOrigin), lastUse: 0 }
    pools.set(origin, opened)
    return opened
  }

  return {
    /** The pool of `origin`, which is now the last used. */
    use(origin: string): OriginPool {
      const used = pools.get(origin) ?? open(origin)
      used.lastUse = ++uses
      return used.pool
    },
    async close(outcome: Unreachable): Promise<void> {
      await Promise.all([...pools.values()].map(({ pool }) => pool.close(outcome)))
    },
  }
}
