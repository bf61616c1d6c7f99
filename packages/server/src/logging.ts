import { toIso, type Fact, type Telemetry } from '@org/agent-messaging-core/runtime'
import type { ProgramLog } from '@org/agent-messaging-process'
import {
  destination,
  pino,
  stdTimeFunctions,
  type LevelWithSilent,
  type Logger as PinoLogger,
} from 'pino'
import { harmless } from './harmless.js'

/** What the server needs of a logger: an object of details first, a text second. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> &
  Partial<Pick<PinoLogger, 'isLevelEnabled'>>

const OPTIONS = {
  base: null,
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (level: string) => ({ level }) },
}

/** Of lines that could not be written yet, in bytes; what comes on top of that is dropped. */
const MOST_UNWRITTEN = 16 * 1024 * 1024

/**
 * A JSON object a line, to stdout. Written behind the event loop's back; what is left is written at exit. A log that cannot be written, as
 * on a full disk, ends nothing: it goes on when it can, with the lines that were kept.
 */
export function jsonLogger(level: LevelWithSilent): PinoLogger {
  const log = destination({ dest: 1, sync: false, maxLength: MOST_UNWRITTEN })
  const { flushSync } = log
  log.once('error', ({ message }: Error) =>
    process.stderr.write(`the log cannot be written: ${message}\n`),
  )
  log.on('error', () => {
    log.flushSync = () => undefined // it would try until it succeeds, and at the exit nothing else happens meanwhile
  })
  log.on('drain', () => {
    log.flushSync = flushSync
  })
  return pino({ ...OPTIONS, level }, log)
}

/** Lines for a person, to stderr: stdout is for what was asked for. Programs and remote agents have their words in them. */
export const plainLogger = (level: LevelWithSilent): PinoLogger =>
  pino(
    { ...OPTIONS, level },
    { write: (line) => void process.stderr.write(harmless(plainLine(line))) },
  )

export const silentLogger: Logger = pino({ level: 'silent' })

type Line = {
  readonly time: string
  readonly level: string
  readonly msg?: string
  readonly err?: { readonly stack?: string }
}

function plainLine(json: string): string {
  const { time, level, msg, err, ...details } = JSON.parse(json) as Line & Record<string, unknown>
  const pairs = Object.entries(details).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const line = [time.slice(11, 19), level.padEnd(5), msg, ...pairs].join(' ')
  return err?.stack === undefined ? `${line}\n` : `${line}\n${err.stack}\n`
}

/** One line for each fact. Facts hold no text of messages and no secrets (see the port), so nothing is taken out here. */
export const logTelemetry = (logger: Logger): Telemetry => ({
  record: (fact) => {
    const level = levelOf(fact)
    if (logger.isLevelEnabled?.(level) === false) return
    const { name, ...details } = fact
    logger[level](withReadableTimes(details), name)
  },
})

/** Instants, by whose name the vocabulary makes them known, as ISO 8601. */
const withReadableTimes = (details: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(details).map(([key, value]) => [
      key,
      key.endsWith('At') && typeof value === 'number' ? toIso(value) : value,
    ]),
  )

/** How much what programs print matters is not for this server to weigh: all of it gets the same level. */
export const logProgram =
  (logger: Logger, level: 'info' | 'warn' = 'info'): ProgramLog =>
  (details, text) =>
    logger[level](details, text)

function levelOf(fact: Fact): 'info' | 'warn' | 'error' {
  switch (fact.name) {
    case 'message.accepted':
    case 'maintenance.done':
    case 'message.cancelled':
    case 'message.retried':
      return 'info'
    case 'run.finished':
      return fact['error'] === undefined ? 'info' : 'warn'
    case 'delivery.attempted':
      return fact['outcome'] === 'accepted' ? 'info' : 'warn'
    case 'webhook.circuit':
      return fact['circuit'] === 'open' ? 'warn' : 'info'
    case 'agent.changed':
      return fact['to'] === 'error' ? 'warn' : 'info'
    case 'run.refused':
    case 'delivery.refused':
    case 'webhook.disabled':
      return 'warn'
    case 'store.unavailable':
    case 'worker.failed':
      return 'error'
  }
}
