import type { ExecutionPrincipal } from './principal.js'

/** An earlier message and its answer. */
export type Turn = {
  readonly messageId: string
  readonly message: string
  readonly response: string
  readonly executionPrincipal: ExecutionPrincipal
}

/** `maxLength` counts the UTF-16 units of messages and answers together. */
export type HistoryLimit = { readonly maxTurns: number; readonly maxLength: number }

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
