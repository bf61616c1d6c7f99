import { toIso } from '../domain/values/instant.js'
import type { Json } from '../domain/values/json.js'
import type { Clock } from '../ports/platform.js'
import { levelOfFact, type Fact, type Telemetry } from '../ports/telemetry.js'

/** Lines of one kind of fact per window. */
const MOST_LINES = 10
const WINDOW_MS = 10_000
const MAX_REASON_LENGTH = 300

/** Ids, kinds and numbers. Other details can repeat the words of agents, receivers and callers. */
const SHOWN = [
  'messageId',
  'agentId',
  'agent',
  'messages',
  'deliveries',
  'agents',
  'webhookId',
  'deliveryId',
  'eventId',
  'projectId',
  'event',
  'attempt',
  'attemptNumber',
  'outcome',
  'statusCode',
  'error',
  'fields',
  'state',
  'from',
  'to',
  'circuit',
  'worker',
  'listener',
  'byMs',
  'reason',
  'hint',
] as const

type Window = { readonly since: number; lines: number; notShown: number }

/**
 * Writes one line per failure or warning: at most 10 of a kind in 10 s. The first line after a
 * pause counts the lines that were left out.
 */
export function stderrTelemetry(
  clock: Pick<Clock, 'now' | 'elapsed'>,
  write: (line: string) => unknown = (line) => process.stderr.write(line),
): Telemetry {
  const windows = new Map<Fact['name'], Window>()

  function record(fact: Fact): void {
    if (levelOfFact(fact) === 'info') return
    const before = windows.get(fact.name)
    const isOver = before === undefined || clock.elapsed() - before.since >= WINDOW_MS
    const window = isOver ? { since: clock.elapsed(), lines: 0, notShown: 0 } : before
    windows.set(fact.name, window)
    if (window.lines++ >= MOST_LINES) return void window.notShown++
    const notShown = isOver && before ? before.notShown : 0
    write(`${toIso(clock.now())} agent-messaging ${textOf(fact, notShown, window.lines)}\n`)
  }
  return { record }
}

function textOf(fact: Fact, notShown: number, lines: number): string {
  const details = SHOWN.flatMap((name) => {
    const { [name]: value } = fact
    return value === undefined ? [] : [`${name}=${shown(value)}`]
  })
  const before = notShown > 0 ? [`(${notShown} more since the last line)`] : []
  const after = lines === MOST_LINES ? ['(more are counted, not shown, for 10 s)'] : []
  return [fact.name, ...details, ...before, ...after].join(' ')
}

/** Quotes text with spaces and control characters. */
const shown = (value: Json): string =>
  typeof value === 'string' && /^[\w.:-]+$/.test(value)
    ? value
    : JSON.stringify(typeof value === 'string' ? value.slice(0, MAX_REASON_LENGTH) : value)
