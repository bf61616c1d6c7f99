/**
 * A reader's position in a message's stream. `offset` counts the UTF-16 units of the attempt's
 * pieces. After the final message it is the kind of the final state, because a message can be
 * retried. The text form, `2.120` or `2.failed`, is the id of a stream's event.
 */
export type StreamPosition = { readonly attempt: number; readonly offset: number | string }

const POSITION = /^(\d{1,9})\.(?:(\d{1,12})|([a-z]{1,20}))$/

export const positionText = ({ attempt, offset }: StreamPosition): string => `${attempt}.${offset}`

/** Parses a position. Returns undefined for other text: such a reader starts at the beginning. */
export function readPosition(text: string): StreamPosition | undefined {
  const [, attempt, offset, state] = POSITION.exec(text) ?? []
  return attempt === undefined
    ? undefined
    : { attempt: Number(attempt), offset: state ?? Number(offset) }
}
