import { segment, type Http } from './http.js'
import type { PrincipalTraces } from './resources.js'

type Page = PrincipalTraces & { readonly nextCursor: string | null }

type PrincipalOptions = {
  /** Called after each request, with the counts until then. */
  readonly onProgress?: (traces: PrincipalTraces) => void
}
type ErasureOptions = PrincipalOptions & { readonly force?: boolean | undefined }

/** The data of end users, by their `endUserId`. Needs the permission `project:admin`. */
export function principalsOf(http: Http) {
  /** Each request covers a limited number of messages, and is safe to repeat. */
  async function sumOfPages(
    method: 'GET' | 'DELETE',
    endUserId: string,
    { onProgress, ...query }: ErasureOptions,
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
      onProgress?.(sum)
      if (page.nextCursor === null) return sum
      cursor = page.nextCursor
    }
  }

  return {
    count: (endUserId: string, options: PrincipalOptions = {}): Promise<PrincipalTraces> =>
      sumOfPages('GET', endUserId, options),
    /** Erases messages and their deliveries. Keeps open messages unless `force` is set. */
    erase: (endUserId: string, options: ErasureOptions = {}): Promise<PrincipalTraces> =>
      sumOfPages('DELETE', endUserId, options),
  }
}
