import type { Clock } from '@org/agent-messaging-core/runtime'

/** Receives the details and then the text, like pino. Lines of programs can contain secrets. */
export type ProgramLog = (details: Readonly<Record<string, unknown>>, text: string) => void

const MAX_LINES = 100
const PERIOD_MS = 10_000
const MAX_LINE_LENGTH = 1_000

/** Logs at most 100 lines in ten seconds and counts the others. */
export function limitedLog(
  log: ProgramLog,
  facts: Readonly<Record<string, unknown>>,
  clock: Pick<Clock, 'now'>,
) {
  let periodStart = -Infinity
  let lines = 0

  return (details: Readonly<Record<string, unknown>> & { readonly line: string }, text: string) => {
    if (clock.now() - periodStart >= PERIOD_MS) {
      if (lines > MAX_LINES) log({ ...facts, lines: lines - MAX_LINES }, 'program.lines_left_out')
      periodStart = clock.now()
      lines = 0
    }
    lines += 1
    if (lines <= MAX_LINES)
      log({ ...facts, ...details, line: details.line.slice(0, MAX_LINE_LENGTH) }, text)
  }
}
