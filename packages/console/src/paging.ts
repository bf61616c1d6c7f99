import { type PageOf } from '@org/agent-messaging-core'
import { isAgentName, isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'

const LENGTH = 25

/** The page that the address asks for; one with an odd cursor is the first. */
export function pageOf(c: Context): PageOf {
  const cursor = c.req.query('cursor')
  return {
    limit: LENGTH,
    ...(cursor !== undefined && isUuid(cursor) && { cursor: cursor.toLowerCase() }),
  }
}

/** What can be no id is looked up as the one that nothing has. */
export const idIn = (segment: string): string =>
  isUuid(segment) ? segment.toLowerCase() : '00000000-0000-0000-0000-000000000000'

/** An agent's name, or its id. */
export const agentIn = (segment: string): string => (isAgentName(segment) ? segment : idIn(segment))

/** The session that the address names; of what no session can be called, the one that nothing has. */
export function sessionIn(c: Context): string {
  const called = c.req.query('session') ?? ''
  return isStorableText(called) ? called : ''
}
