import type { AnswerParts, Part } from '../domain/messages/part.js'

/** `parts` is JSON. `isTruncated` is 0 or 1. */
export type PartsRow = {
  readonly messageId: string
  readonly parts: string
  readonly isTruncated: number
}

export const PARTS_COLUMNS = [
  'messageId',
  'parts',
  'isTruncated',
] as const satisfies readonly (keyof PartsRow)[]

export const partsRow = (messageId: string, { parts, isTruncated }: AnswerParts): PartsRow => ({
  messageId,
  parts: JSON.stringify(parts),
  isTruncated: isTruncated ? 1 : 0,
})

export const toParts = ({ parts, isTruncated }: PartsRow): AnswerParts => ({
  parts: JSON.parse(parts) as Part[],
  isTruncated: isTruncated === 1,
})
