import { levelOfFact, type Telemetry } from '@org/agent-messaging-core/runtime'
import { toIso } from '@org/agent-messaging-core/storage'
import type { ProgramLog } from '@org/agent-messaging-runtime-process'
import {
  destination,
  pino,
  stdTimeFunctions,
  type LevelWithSilent,
  type Logger as PinoLogger,
} from 'pino'
import { printable } from '../terminal.js'

/** The part of pino's interface that the server uses. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> &
  Partial<Pick<PinoLogger, 'isLevelEnabled'>>

const OPTIONS = {
  base: null,
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (level: string) => ({ level }) },
}

/** Lines beyond this many unwritten bytes are dropped. */
const MAX_UNWRITTEN_BYTES = 16 * 1024 * 1024
/** Lines are written together, because a write costs several times what a line costs. */
const LENGTH_OF_A_WRITE = 32 * 1024
/** A line waits this long for others. */
const LINGER_MS = 100

/**
 * Writes one JSON object per line to stdout, asynchronously, and the rest at exit.
 * If writing fails, as on a full disk, the server continues. The log resumes when it can,
 * with the buffered lines.
 */
export function jsonLogger(level: LevelWithSilent): PinoLogger {
  let lines = ''
  let flushing: NodeJS.Timeout | undefined
  function flush(): void {
    clearTimeout(flushing)
    flushing = undefined
    if (lines !== '') log.write(lines)
    lines = ''
  }
  const log = destination({ dest: 1, sync: false, maxLength: MAX_UNWRITTEN_BYTES })
  // Before the listeners of `log`, which write what it has.
  process.prependListener('beforeExit', flush).prependListener('exit', flush)
  const { flushSync } = log
  log.once('error', ({ message }: Error) =>
    process.stderr.write(`cannot write the log: ${message}\n`),
  )
  log.on('error', () => {
    log.flushSync = () => undefined // the original would block the exit until it succeeds
  })
  log.on('drain', () => {
    log.flushSync = flushSync
  })
  function write(line: string): void {
    lines += line
    if (lines.length >= LENGTH_OF_A_WRITE) flush()
    else flushing ??= setTimeout(flush, LINGER_MS).unref()
  }
  return pino({ ...OPTIONS, level }, { write })
}

/** Writes readable lines to stderr. A line can contain text from programs and remote agents. */
export const plainLogger = (level: LevelWithSilent): PinoLogger =>
  pino(
    { ...OPTIONS, level },
    { write: (line) => void process.stderr.write(printable(plainLine(line))) },
  )

export const silentLogger: Logger = pino({ level: 'silent' })

type Line = {
  readonly time: string
  readonly level: string
  readonly msg?: string
  readonly err?: { readonly stack?: string }
}

function plainLine(json: string) {
  const { time, level, msg, err, ...details } = JSON.parse(json) as Line & Record<string, unknown>
  const pairs = Object.entries(details).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const line = [time.slice(11, 19), level.padEnd(5), msg, ...pairs].join(' ')
  return err?.stack === undefined ? `${line}\n` : `${line}\n${err.stack}\n`
}

/** Logs one line per fact. Facts contain no message text and no secrets (see the port). */
export const logTelemetry = (logger: Logger): Telemetry => ({
  record: (fact) => {
    const level = levelOfFact(fact)
    if (logger.isLevelEnabled?.(level) === false) return
    const { name, ...details } = fact
    logger[level](withReadableTimes(details), name)
  },
})

/** Formats instants as ISO 8601. Their names end in `At`. */
function withReadableTimes(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const readable: Record<string, unknown> = { ...details }
  for (const [key, value] of Object.entries(details))
    if (key.endsWith('At') && typeof value === 'number') readable[key] = toIso(value)
  return readable
}

/** Logs all output of programs at one level, because the server cannot judge its importance. */
export const logProgram =
  (logger: Logger, level: 'info' | 'warn' = 'info'): ProgramLog =>
  (details, text) =>
    logger[level](details, text)
