import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Whether a process of this number runs. One that has ended may stand in the table for a while, until its new parent looks. */
export function isAlive(pid: number): boolean {
  const status = `/proc/${pid}/stat`
  try {
    process.kill(pid, 0)
    return !existsSync(status) || !/\) Z /.test(readFileSync(status, 'utf8'))
  } catch {
    return false
  }
}

/** Those of the processes that still run, once none does or ten seconds have passed. */
export async function leftOf(pids: readonly number[]): Promise<readonly number[]> {
  const end = Date.now() + 10_000
  while (pids.some(isAlive) && Date.now() < end) await delay(20)
  return pids.filter(isAlive)
}
