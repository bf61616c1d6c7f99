import type { Deps } from '../use-cases/deps.js'

/** What one bounded pass did. */
export type Pass = { readonly messages: number; readonly deliveries: number; readonly cancelled: number }

/**
 * One bounded pass of everything due: agents to look after, queued messages and those of dead processes, deliveries, open
 * deliveries of deleted webhooks. Ends when nothing is left or the budget is used; what it began then goes on behind it.
 * Any number of passes may run at once, in any number of processes: claims keep them apart.
 */
export const runPass =
  (d: Pick<Deps, 'clock' | 'policy' | 'dispatcher' | 'deliveryWorker' | 'supervisor' | 'orphans'>) =>
  async ({ budgetMs }: { readonly budgetMs: number }): Promise<Pass> => {
    const end = d.clock.now() + budgetMs
    let messages = 0
    let deliveries = 0
    await d.supervisor.tick()
    const cancelled = await d.orphans.tick()
    for (let left = budgetMs; left > 0; left = end - d.clock.now()) {
      const runs = await d.dispatcher.tick()
      const attempts = await d.deliveryWorker.tick()
      messages += runs.length
      deliveries += attempts.length
      const begun = [...runs, ...attempts]
      if (begun.length === 0) break
      await allWithin(d, begun, end - d.clock.now())
    }
    return { messages, deliveries, cancelled }
  }

/** Waits for the work, and meanwhile tends the runs: with no timers running, nobody else beats their leases. */
async function allWithin(d: Pick<Deps, 'clock' | 'policy' | 'dispatcher'>, work: Promise<void>[], ms: number): Promise<void> {
  const end = d.clock.now() + ms
  const done = new AbortController()
  void Promise.all(work).then(() => done.abort())
  while (!done.signal.aborted && d.clock.now() < end) {
    await d.clock.sleep(Math.min(d.policy.pollMs, end - d.clock.now()), done.signal)
    await d.dispatcher.tend()
  }
}
