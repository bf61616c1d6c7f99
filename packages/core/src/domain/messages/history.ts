import type { ExecutionPrincipal } from '../access/principal.js'

/** An earlier message and its answer. */
export type Turn = {
  readonly messageId: string
  readonly message: string
  readonly response: string
  readonly executionPrincipal: ExecutionPrincipal
}

/** A turn that the sender of a message brought along: a part of the session's past. */
export type EarlierTurn = Pick<Turn, 'message' | 'response'>

/** A message of a session's past. `response` is null if it has no answer. */
export type PastMessage = Omit<Turn, 'response'> & {
  readonly response: string | null
  readonly earlierTurns?: readonly EarlierTurn[]
}

/**
 * Returns the turns of a message, newest first: the message with its answer, if there is one, and
 * then the turns that its sender brought along, under the message's id and principal.
 */
export function* turnsOf(past: PastMessage): Generator<Turn> {
  const { messageId, message, response, executionPrincipal, earlierTurns = [] } = past
  if (response !== null) yield { messageId, message, response, executionPrincipal }
  for (const turn of earlierTurns.toReversed()) yield { ...turn, messageId, executionPrincipal }
}

/** `maxLength` counts the UTF-16 units of messages and answers together. */
export type HistoryLimit = {
  /** The most turns. */
  readonly maxTurns: number
  /** The most characters of messages and answers. */
  readonly maxLength: number
}

/**
 * Returns the newest turns that fit, without a gap, oldest first. Reads `newestFirst` no further
 * than that.
 */
export function newestThatFit(
  newestFirst: Iterable<Turn>,
  { maxTurns, maxLength }: HistoryLimit,
): Turn[] {
  const turns: Turn[] = []
  let length = 0
  if (maxTurns < 1) return turns
  for (const turn of newestFirst) {
    length += turn.message.length + turn.response.length
    if (length > maxLength) break
    turns.push(turn)
    if (turns.length >= maxTurns) break
  }
  return turns.reverse()
}
