import type { ExecutionPrincipal } from './principal.js'

/** One message of the past, and its answer. */
export type Turn = {
  readonly messageId: string
  readonly message: string
  readonly response: string
  readonly executionPrincipal: ExecutionPrincipal
}

/** `maxLength` counts the UTF-16 units of messages and answers together. */
export type HistoryLimit = { readonly maxTurns: number; readonly maxLength: number }

/** As many of the newest turns as fit, without a gap; `newestFirst` is read no further than that. Gives them oldest first. */
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
