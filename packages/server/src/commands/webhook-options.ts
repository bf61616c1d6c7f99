import type { WebhookFilter } from '@org/agent-messaging-client'
import { EVENT_NAMES } from '@org/agent-messaging-core'
import { ORDERINGS, type Ordering } from '@org/agent-messaging-core/runtime'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { schedule } from '../config-values.js'
import { duration, repeatable, wholeNumber } from './options.js'

/** The options for the settings of a webhook. Null clears a setting. */
export type WebhookOptions = {
  readonly event?: readonly string[]
  readonly filter?: WebhookFilter | null
  readonly description?: string
  readonly ordering?: Ordering
  readonly maxConcurrency?: number | null
  readonly rate?: number | null
  readonly timeout?: number | null
  readonly retrySchedule?: readonly number[] | null
}

export const eventsOption = (about: string): Option =>
  repeatable('--event <name>', about, ['*', ...EVENT_NAMES])

export const filterOption = (about: string): Option =>
  new Option('--filter <json>', about).argParser(filterOf)

export const orderingOption = (): Option =>
  new Option('--ordering <order>', 'session: keep the order of the events of each session').choices(
    [...ORDERINGS],
  )

/** The limits, the timeout and the retries of a webhook. `-` clears a setting. */
export const withSending = (command: Command): Command =>
  command
    .option('--max-concurrency <number>', 'most requests at a time', orNone(wholeNumber(1, 1_000)))
    .option('--rate <number>', 'most requests per second', orNone(rate))
    .option('--timeout <duration>', 'time limit of an attempt, such as 20s', orNone(duration))
    .option(
      '--retry-schedule <delays>',
      'delays between attempts, such as 5s,5m,2h',
      orNone(delays),
    )

/** The settings of the HTTP API that the options give. The others are undefined. */
export const sendingOf = ({ maxConcurrency, rate, timeout, retrySchedule }: WebhookOptions) => ({
  maxConcurrency: cleared(maxConcurrency),
  requestsPerSecond: cleared(rate),
  timeoutMs: cleared(timeout),
  retrySchedule: cleared(retrySchedule),
})

/** Commander turns the null of a parser into an empty text. */
export const cleared = <T>(given: T): T | null => ((given as unknown) === '' ? null : given)

const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | null =>
    text === '-' ? null : parse(text)

function rate(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (number > 0) return number
  throw new InvalidArgumentError('Expected a positive number, such as 100 or 0.5.')
}

function delays(text: string): readonly number[] {
  const parsed = schedule.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('Expected up to 50 delays of at most 30d, such as 5s,5m,2h.')
}

function filterOf(json: string): WebhookFilter | null {
  if (json === '-') return null
  try {
    return JSON.parse(json) as WebhookFilter
  } catch {
    throw new InvalidArgumentError('It is not JSON.')
  }
}
