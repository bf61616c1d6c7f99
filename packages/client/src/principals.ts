import { segment, type Http } from './http.js'
import type { PrincipalTraces } from './resources.js'

type Page = PrincipalTraces & { readonly nextCursor: string | null }

/** The data of end users, by their `endUserId`. Needs the permission `project:admin`. */
export function principalsOf(http: Http) {
  /** Each request covers a limited number of messages, and is safe to repeat. */
  async function sumOfPages(
    method: 'GET' | 'DELETE',
    endUserId: string,
    query: object,
  ): Promise<PrincipalTraces> {
    const path = `/v1/principals${segment(endUserId)}`
    let sum = { messages: 0, openMessages: 0, deliveries: 0, events: 0 }
    for (let cursor: string | undefined; ;) {
      const call = { method, path, query: { ...query, cursor }, retryable: true }
      const page: Page = await http.json(call)
      sum = {
        messages: sum.messages + page.messages,
        openMessages: sum.openMessages + page.openMessages,
        deliveries: sum.deliveries + page.deliveries,
        events: sum.events + page.events,
      }
      if (page.nextCursor === null) return sum
      cursor = page.nextCursor
    }
  }

  return {
    count: (endUserId: string): Promise<PrincipalTraces> => sumOfPages('GET', endUserId, {}),
    /** Erases messages and their deliveries. Keeps open messages unless `force` is set. */
    erase: (endUserId: string, { force = false } = {}): Promise<PrincipalTraces> =>
      sumOfPages('DELETE', endUserId, { force }),
  }
}
