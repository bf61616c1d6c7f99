import { step, type Http } from './http.js'
import type { PrincipalTraces } from './resources.js'

type Part = PrincipalTraces & { readonly nextCursor: string | null }

/** What is kept of end users, by the `endUserId` of the messages that were sent on their behalf. Needs `project:admin`. */
export function principalsOf(http: Http) {
  /** The service goes a bounded way a request; each may be repeated, for what is erased is erased. */
  async function walk(
    method: 'GET' | 'DELETE',
    endUserId: string,
    query: object,
  ): Promise<PrincipalTraces> {
    const path = `/v1/principals${step(endUserId)}`
    let sum = { messages: 0, openMessages: 0, deliveries: 0 }
    for (let cursor: string | undefined; ;) {
      const part: Part = await http.json({
        method,
        path,
        query: { ...query, cursor },
        mayRepeat: true,
      })
      sum = {
        messages: sum.messages + part.messages,
        openMessages: sum.openMessages + part.openMessages,
        deliveries: sum.deliveries + part.deliveries,
      }
      if (part.nextCursor === null) return sum
      cursor = part.nextCursor
    }
  }

  return {
    count: (endUserId: string): Promise<PrincipalTraces> => walk('GET', endUserId, {}),
    /** Erases their messages and the deliveries of them; `force` with open ones too, which are kept and counted else. */
    erase: (endUserId: string, { force = false } = {}): Promise<PrincipalTraces> =>
      walk('DELETE', endUserId, { force }),
  }
}
