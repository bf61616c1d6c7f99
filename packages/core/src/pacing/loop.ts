import type { Platform } from '../platform.js'

/** Runs `tick`, then waits `intervalMs` or until woken. Ticks never overlap. */
export type Loop = {
  start(): void
  /** Starts a tick soon. */
  wake(): void
  /** Starts no more ticks. Resolves when the running one has ended. */
  stop(): Promise<void>
}

export function createLoop(
  d: Pick<Platform, 'clock' | 'telemetry'>,
  name: string,
  intervalMs: number | (() => number),
  tick: () => Promise<unknown>,
): Loop {
  let running: Promise<void> | undefined
  let stopped = false
  let woken = false
  let nap = new AbortController()

  async function run(): Promise<void> {
    while (!stopped) {
      woken = false
      await tick().catch((error: unknown) =>
        d.telemetry.record({ name: 'worker.failed', worker: name, reason: String(error) }),
      )
      nap = new AbortController()
      const ms = typeof intervalMs === 'number' ? intervalMs : intervalMs()
      if (!woken && !stopped) await d.clock.sleep(ms, nap.signal)
    }
  }

  return {
    start: () => {
      running ??= run()
    },
    wake: () => {
      woken = true
      nap.abort('woken')
    },
    stop: async () => {
      stopped = true
      nap.abort()
      await running
    },
  }
}
