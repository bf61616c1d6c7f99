import { setTimeout as delay } from 'node:timers/promises'

/** Waits until the condition holds. Throws with its name after a minute. */
export async function eventually(name: string, condition: () => boolean): Promise<void> {
  const end = Date.now() + 60_000
  while (!condition()) {
    if (Date.now() > end) throw new Error(`never happened: ${name}`)
    await delay(5)
  }
}
