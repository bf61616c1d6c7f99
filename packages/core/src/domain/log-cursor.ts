import { textHash } from './text-hash.js'

/**
 * A place in the log of a project. `mark` tells the event at the position from an event that got
 * the same position after a return to an older backup.
 */
export type LogPlace = { readonly position: number; readonly mark?: string }

const CURSOR = /^(\d{1,15})(?:-([\w-]{1,8}))?$/

export const markOf = (eventId: string): string => textHash(eventId).toString(16)

/** True if the event at the place cannot be the one with this mark. An erased one has no id. */
export const isAnotherEvent = (mark: string | undefined, eventId: string | undefined): boolean =>
  mark !== undefined && eventId !== undefined && markOf(eventId) !== mark

export const cursorOf = ({ position, mark }: LogPlace): string =>
  mark === undefined ? String(position) : `${position}-${mark}`

/** Returns undefined for a text that is no cursor. */
export function placeOf(cursor: string): LogPlace | undefined {
  const [, position, mark] = CURSOR.exec(cursor) ?? []
  if (position === undefined) return undefined
  return { position: Number(position), ...(mark !== undefined && { mark }) }
}
