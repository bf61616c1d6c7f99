import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { DeliveryFilter, MessagingService } from '@org/agent-messaging-core'
import { ok, safeTry } from 'neverthrow'

const COUNT_PAGE = 1_000
const MAX_COUNT_PAGES = 10

/** `isAll` is false if more rows match than were counted. */
export type Count = { readonly count: number; readonly isAll: boolean }

/** Counts up to 10,000 deliveries, 1,000 at a time. Between two pages, other requests can run. */
export const countMatching = (service: MessagingService, filter: DeliveryFilter) =>
  safeTry(async function* () {
    let count = 0
    let cursor: string | undefined
    for (let pages = 0; pages < MAX_COUNT_PAGES; pages++) {
      const page = { limit: COUNT_PAGE, ...(cursor !== undefined && { cursor }) }
      const { data, nextCursor } = yield* service.deliveries.list(filter, page)
      count += data.length
      if (nextCursor === null) return ok<Count>({ count, isAll: true })
      cursor = nextCursor
      await yieldToEventLoop()
    }
    return ok<Count>({ count, isAll: false })
  })

export const formatCount = (count: number): string => count.toLocaleString('en')

/** Returns a count with its unit, such as `1 delivery` or `more than 10,000 deliveries`. */
export const countText = ({ count, isAll }: Count, one: string, many: string): string =>
  `${isAll ? '' : 'more than '}${formatCount(count)} ${count === 1 ? one : many}`
