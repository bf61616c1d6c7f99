import type { Clock } from '@org/agent-messaging-core/runtime'

/** Details first, then what happened: as pino has it. Lines are what programs print, so they may hold anything that these know. */
export type ProgramLog = (details: Readonly<Record<string, unknown>>, text: string) => void

const MAX_LINES = 100
const PER_MS = 10_000
const MAX_LINE_LENGTH = 1_000

/** Passes on 100 lines each ten seconds and counts the rest: a program that floods us must not flood the log. */
export function limitedLog(
  log: ProgramLog,
  facts: Readonly<Record<string, unknown>>,
  clock: Pick<Clock, 'now'>,
) {
  let since = -Infinity
  let lines = 0

  return (
    details: Readonly<Record<string, unknown>> & { readonly line: string },
    text: string,
  ): void => {
    if (clock.now() - since >= PER_MS) {
      if (lines > MAX_LINES) log({ ...facts, lines: lines - MAX_LINES }, 'program.lines_left_out')
      since = clock.now()
      lines = 0
    }
    lines += 1
    if (lines <= MAX_LINES)
      log({ ...facts, ...details, line: details.line.slice(0, MAX_LINE_LENGTH) }, text)
  }
}
