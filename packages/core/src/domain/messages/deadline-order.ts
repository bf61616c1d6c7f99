import { isUuid } from '../values/input-rules.js'
import type { Instant } from '../values/instant.js'

/** Questions are in the order of their deadlines, and then of the ids of their messages. */
export type DeadlinePlace = { readonly at: Instant; readonly id: string }

const TIME = /^(\d{1,15})-(.*)$/

/**
 * Returns the cursor behind a question. It has the place and not only an id, because the question
 * can be answered, and then has no place.
 */
export const deadlineCursor = (deadlineAt: Instant, messageId: string): string =>
  `${deadlineAt}-${messageId}`

/** Returns the place behind which a page starts, or undefined if the cursor is not of this list. */
export function deadlinePlace(cursor: string | undefined): DeadlinePlace | undefined {
  if (cursor === undefined) return { at: 0, id: '' }
  const [, at, id = ''] = TIME.exec(cursor) ?? []
  return isUuid(id) ? { at: Number(at), id: id.toLowerCase() } : undefined
}
