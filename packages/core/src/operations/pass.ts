import type { Needs } from './context.js'
import { reportUnavailable } from '../pacing/report-unavailable.js'
import type { Maintained } from '../maintenance/maintenance.js'

/** The work of one pass: started runs and attempts, cancelled deliveries, deleted rows. */
export type Pass = {
  readonly messages: number
  readonly deliveries: number
  readonly cancelled: number
  readonly purgedDeliveries: number
  readonly purgedMessages: number
}

const MAINTAINED: Maintained = {
  cancelled: 0,
  purgedDeliveries: 0,
  purgedMessages: 0,
  isDone: true,
}

/** Each round starts what there is room for. */
const MOST_ROUNDS = 1_000

export const runPass =
  (
    d: Needs<
      | 'checkMasterKey'
      | 'clock'
      | 'telemetry'
      | 'supervisor'
      | 'maintenance'
      | 'recoveryRunner'
      | 'inputDeadlines'
      | 'dispatcher'
      | 'deliverySender'
      | 'eventListeners'
    >,
  ) =>
  async ({ budgetMs }: { readonly budgetMs: number }): Promise<Pass> => {
    const end = d.clock.elapsed() + budgetMs
    const underWay = new Set<Promise<void>>()
    let nap = new AbortController()
    let pass: Pass = {
      messages: 0,
      deliveries: 0,
      cancelled: 0,
      purgedDeliveries: 0,
      purgedMessages: 0,
    }
    let maintained: Maintained | undefined
    let isRecovered = false

    function follow(work: Promise<void>): void {
      underWay.add(work)
      void work.then(() => {
        underWay.delete(work)
        nap.abort('ended')
      })
    }

    const checked = await d.checkMasterKey()
    if (!checked.ok) {
      reportUnavailable(d, checked.error)
      return pass
    }
    await d.supervisor.tick()
    for (let rounds = 0; rounds < MOST_ROUNDS && d.clock.elapsed() < end; rounds++) {
      nap = new AbortController()
      maintained = maintained?.isDone ? MAINTAINED : await d.maintenance.tick()
      const { isDone, ...rows } = maintained
      if (!isRecovered || d.recoveryRunner.isTrying)
        isRecovered = (await d.recoveryRunner.tick()).isDone
      await d.inputDeadlines.tick()
      const runs = await d.dispatcher.tick()
      const attempts = await d.deliverySender.tick()
      pass = sum(pass, { ...rows, messages: runs.length, deliveries: attempts.length })
      for (const work of [...runs, ...attempts, ...(await d.eventListeners.tick())]) follow(work)
      // Work that ended in this round can have made other work due.
      const isTidy = isDone && isRecovered
      if (underWay.size === 0 && isTidy && !nap.signal.aborted) break
      if (isTidy) await d.clock.sleep(Math.max(0, end - d.clock.elapsed()), nap.signal)
    }
    await d.eventListeners.rest()
    return pass
  }

const sum = (a: Pass, b: Pass): Pass => ({
  messages: a.messages + b.messages,
  deliveries: a.deliveries + b.deliveries,
  cancelled: a.cancelled + b.cancelled,
  purgedDeliveries: a.purgedDeliveries + b.purgedDeliveries,
  purgedMessages: a.purgedMessages + b.purgedMessages,
})
