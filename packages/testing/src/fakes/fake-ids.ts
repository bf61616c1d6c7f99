import type { Ids } from '@org/agent-messaging-core/runtime'

/**
 * UUIDs of version 7 that count from 1, so that they grow and are the same in every run. Two
 * generators with different `series` (0 to 4095) never make the same one.
 */
export function fakeIds(series = 0): Ids {
  let last = 0
  return {
    next: () => {
      const count = (++last).toString(16).padStart(12, '0')
      return `${count.slice(0, 8)}-${count.slice(8)}-7${series.toString(16).padStart(3, '0')}-8000-000000000000`
    },
  }
}
