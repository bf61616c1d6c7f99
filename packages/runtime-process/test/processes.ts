import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Returns true if the process runs. An ended process can stay in the table as a zombie. */
export function isAlive(pid: number): boolean {
  const status = `/proc/${pid}/stat`
  try {
    process.kill(pid, 0)
    return !existsSync(status) || !/\) Z /.test(readFileSync(status, 'utf8'))
  } catch {
    return false
  }
}

/** Waits up to a minute for processes to end, and returns the running ones. */
export async function leftOf(pids: readonly number[]): Promise<readonly number[]> {
  const end = Date.now() + 60_000
  while (pids.some(isAlive) && Date.now() < end) await delay(20)
  return pids.filter(isAlive)
}
