import { setTimeout as delay } from 'node:timers/promises'

const CLOSING_MS = 2_000
const BETWEEN_REPORTS_MS = 60_000

/** Waits for a shutdown that sends the rest, for at most two seconds. Never rejects. */
export const closing = async (shutdown: () => Promise<void>): Promise<void> => {
  const limit = delay(CLOSING_MS, undefined, { ref: false })
  await Promise.race([shutdown().catch(() => undefined), limit])
}

/** Returns a function that reports the failure of an export, at most once a minute. */
export function sometimes(onFailure: (reason: string) => void): (error: Error | undefined) => void {
  let silentUntil = -Infinity
  return (error) => {
    const now = performance.now()
    if (!error || now < silentUntil) return
    silentUntil = now + BETWEEN_REPORTS_MS
    onFailure(error.message)
  }
}
