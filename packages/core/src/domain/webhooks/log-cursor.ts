import { textHash } from '../values/text-hash.js'

/**
 * A place in the log of a project. `mark` tells the event at the position from an event that got
 * the same position after a return to an older backup.
 */
export type LogPlace = { readonly position: number; readonly mark?: string | undefined }

/** A position, a mark of the project, and the mark of an event. */
const CURSOR = /^(\d{1,15})-([\da-f]{1,8})(?:-([\da-f]{1,8}))?$/

export const markOf = (id: string): string => textHash(id).toString(16)

/** True if the event at the place cannot be the one with this mark. An erased one has no id. */
export const isAnotherEvent = (mark: string | undefined, eventId: string | undefined): boolean =>
  mark !== undefined && eventId !== undefined && markOf(eventId) !== mark

export function cursorOf(projectId: string, { position, mark }: LogPlace): string {
  const cursor = `${position}-${markOf(projectId)}`
  return mark === undefined ? cursor : `${cursor}-${mark}`
}

/** Returns undefined for a text that is no cursor, and `foreign` for one of another project. */
export function placeOf(projectId: string, cursor: string): LogPlace | 'foreign' | undefined {
  const [, position, project, mark] = CURSOR.exec(cursor) ?? []
  if (position === undefined) return undefined
  if (project !== markOf(projectId)) return 'foreign'
  return { position: Number(position), mark }
}
