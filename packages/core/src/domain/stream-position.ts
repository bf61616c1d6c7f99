/**
 * How far somebody has read of a message's stream. `offset` counts the UTF-16 units of the attempt's pieces; `end` is past the
 * final message. As text, `2.120` or `2.end`, it is the id of a stream's events.
 */
export type StreamPosition = { readonly attempt: number; readonly offset: number | 'end' }

const POSITION = /^(\d{1,9})\.(?:(\d{1,12})|end)$/

export const positionText = ({ attempt, offset }: StreamPosition): string => `${attempt}.${offset}`

/** Undefined for what is no position: whoever sends that has read nothing. */
export function readPosition(text: string): StreamPosition | undefined {
  const [found, attempt, offset] = POSITION.exec(text) ?? []
  return found === undefined ? undefined : { attempt: Number(attempt), offset: offset === undefined ? 'end' : Number(offset) }
}
