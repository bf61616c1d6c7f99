import { ok, safeTry } from 'neverthrow'
import { invalid } from '../domain/input-rules.js'
import type { Instant } from '../domain/instant.js'
import { dayOf, startOfDay, sumOfUsage, type UsageCounts } from '../domain/usage.js'
import type { Platform } from '../platform.js'

/** `from` and `to` are in the first and the last day. Default: the last 30 days. */
export type ReadUsageInput = {
  readonly projectId: string
  readonly from?: Instant | undefined
  readonly to?: Instant | undefined
}

/** `days` are the days with counts, oldest first. `isCounted`: the service counts usage now. */
export type ProjectUsage = {
  readonly from: Instant
  readonly to: Instant
  readonly isCounted: boolean
  readonly total: UsageCounts
  readonly days: readonly { readonly day: Instant; readonly counts: UsageCounts }[]
}

const DEFAULT_DAYS = 30
const MOST_DAYS = 366

export const readUsage =
  (d: Platform) =>
  ({ projectId, from, to }: ReadUsageInput) =>
    safeTry(async function* () {
      const toDay = dayOf(to ?? d.clock.now())
      const fromDay = from === undefined ? toDay - DEFAULT_DAYS + 1 : dayOf(from)
      if (fromDay > toDay) return invalid('from', 'must not be after to')
      if (toDay - fromDay >= MOST_DAYS)
        return invalid('from', `must be less than ${MOST_DAYS} days before to`)
      const days = yield* d.storage.usage.read({ projectId, fromDay, toDay })
      return ok({
        from: startOfDay(fromDay),
        to: startOfDay(toDay),
        isCounted: d.policy.quotas !== undefined,
        total: sumOfUsage(days.map(({ counts }) => counts)),
        days: days.map(({ day, counts }) => ({ day: startOfDay(day), counts })),
      })
    })
