/**
 * How far somebody has read of a message's stream. `offset` counts the UTF-16 units of the attempt's pieces; past the final message
 * it is the kind of state that it was final in, for a message may be retried. As text, `2.120` or `2.failed`, it is the id of a
 * stream's events.
 */
export type StreamPosition = { readonly attempt: number; readonly offset: number | string }

const POSITION = /^(\d{1,9})\.(?:(\d{1,12})|([a-z]{1,20}))$/

export const positionText = ({ attempt, offset }: StreamPosition): string => `${attempt}.${offset}`

/** Undefined for what is no position: whoever sends that has read nothing. */
export function readPosition(text: string): StreamPosition | undefined {
  const [, attempt, offset, state] = POSITION.exec(text) ?? []
  return attempt === undefined
    ? undefined
    : { attempt: Number(attempt), offset: state ?? Number(offset) }
}
