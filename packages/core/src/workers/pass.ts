import type { Deps } from '../use-cases/deps.js'

/** What one bounded pass did: runs and attempts that it began, deliveries that it ended unsent, rows that it deleted. */
export type Pass = {
  readonly messages: number
  readonly deliveries: number
  readonly cancelled: number
  readonly purgedDeliveries: number
  readonly purgedMessages: number
}

/** Each claims as much as this process can work on at once. */
const MOST_ROUNDS = 100

/**
 * One pass of everything due: agents to look after, queued messages and those of dead processes, deliveries, and a step of
 * maintenance with each round. Ends when nothing is left, or the budget or the rounds are used up; what it began then goes on
 * behind it, under its lease. Any number of passes may run at once, in any number of processes: claims keep them apart.
 */
export const runPass =
  (d: Pick<Deps, 'clock' | 'dispatcher' | 'deliveryWorker' | 'supervisor' | 'maintenance'>) =>
  async ({ budgetMs }: { readonly budgetMs: number }): Promise<Pass> => {
    const end = d.clock.now() + budgetMs
    let pass: Pass = { messages: 0, deliveries: 0, cancelled: 0, purgedDeliveries: 0, purgedMessages: 0 }
    await d.supervisor.tick()
    for (let rounds = 0; rounds < MOST_ROUNDS && d.clock.now() < end; rounds++) {
      const { isDone, ...maintained } = await d.maintenance.tick()
      const runs = await d.dispatcher.tick()
      const attempts = await d.deliveryWorker.tick()
      pass = sum(pass, { ...maintained, messages: runs.length, deliveries: attempts.length })
      const begun = [...runs, ...attempts]
      if (begun.length === 0 && isDone) break
      await allWithin(d, begun, end - d.clock.now())
    }
    return pass
  }

const sum = (a: Pass, b: Pass): Pass => ({
  messages: a.messages + b.messages,
  deliveries: a.deliveries + b.deliveries,
  cancelled: a.cancelled + b.cancelled,
  purgedDeliveries: a.purgedDeliveries + b.purgedDeliveries,
  purgedMessages: a.purgedMessages + b.purgedMessages,
})

async function allWithin({ clock }: Pick<Deps, 'clock'>, work: readonly Promise<void>[], ms: number): Promise<void> {
  const done = new AbortController()
  void Promise.all(work).then(() => done.abort('done'))
  await clock.sleep(Math.max(0, ms), done.signal)
}
