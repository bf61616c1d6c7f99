import { groupBy } from './group-by.js'
import type { Fault, History, ReceivedRequest } from './history.js'
import { isSuccess } from './outbox.js'

/** Deliveries that their receiver accepted again after a kill. */
export type Repeats = {
  readonly perKill: number
  /** The largest number after one kill. */
  readonly most: number
}

/** A kill repeats what it left without a record: requests in flight, and records not written. */
export function repeatsAfterKills({ received, faults }: History): Repeats {
  const kills = faults.filter(({ kind }) => kind.startsWith('kill'))
  const counts = new Map<Fault, number>()
  const deliveries = groupBy(
    received.filter(({ answer }) => isSuccess(answer)),
    ({ headers }) => headers['webhook-id'],
  )
  for (const successes of deliveries.values())
    for (const [first, second] of pairs(successes.toSorted((a, b) => a.at - b.at))) {
      const kill = kills.find(({ at, until }) => first.at <= until && second.at >= at)
      if (kill) counts.set(kill, (counts.get(kill) ?? 0) + 1)
    }
  const repeats = [...counts.values()]
  const sum = repeats.reduce((all, count) => all + count, 0)
  const perKill = kills.length === 0 ? 0 : Math.round((10 * sum) / kills.length) / 10
  return { perKill, most: Math.max(0, ...repeats) }
}

const pairs = (all: readonly ReceivedRequest[]) =>
  all.slice(1).map((second, before) => [all[before] ?? second, second] as const)
