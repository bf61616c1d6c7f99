import type { MessageFilter } from '../ports/message-store.js'

/** The bounds of a page's rows, inclusive. */
export type MessageBounds = {
  readonly fromSeq: number
  readonly toSeq: number
  readonly fromPosition: number
  readonly toPosition: number
}
/** The message of the cursor, or the last one before it if that message was deleted. */
export type CursorPlace = {
  readonly id: string
  readonly seq: number
  readonly position: number
  readonly sessionId: string
}

const EVERYWHERE: MessageBounds = {
  fromSeq: 0,
  toSeq: Number.MAX_SAFE_INTEGER,
  fromPosition: 0,
  toPosition: Number.MAX_SAFE_INTEGER,
}

/**
 * Returns where the page after the cursor has its rows. A cursor whose message was deleted counts
 * by its id, a UUIDv7. In a session, a retried message has a newer position than its id.
 */
export function messageBounds(
  cursor: string | undefined,
  place: CursorPlace | undefined,
  { sessionId, order }: MessageFilter,
): MessageBounds {
  if (cursor === undefined) return EVERYWHERE
  if (place?.id === cursor && place.sessionId === sessionId) {
    return order === 'asc'
      ? { ...EVERYWHERE, fromPosition: place.position + 1 }
      : { ...EVERYWHERE, toPosition: place.position - 1 }
  }
  const seq = place?.seq ?? 0
  return order === 'asc'
    ? { ...EVERYWHERE, fromSeq: seq + 1 }
    : { ...EVERYWHERE, toSeq: place?.id === cursor ? seq - 1 : seq }
}
