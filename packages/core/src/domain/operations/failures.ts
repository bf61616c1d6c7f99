import { RUN_ERROR_CODES } from '../messages/run.js'
import type { Instant } from '../values/instant.js'
import { addCounts, ATTEMPT_CLASSES, type CountRow, type Counts } from './counts.js'

const ERRORS = RUN_ERROR_CODES.map((reason) => ({ reason, name: `error:${reason}` as const }))
const CLASSES = ATTEMPT_CLASSES.filter((reason) => reason !== '2xx').map((reason) => ({
  reason,
  name: `class:${reason}` as const,
}))
/** Agents count errors of messages, and webhooks count classes of attempts. */
const REASONS = [...ERRORS, ...CLASSES]
type FailureReason = (typeof REASONS)[number]['reason']
export const FAILURE_REASONS = REASONS.map(({ reason }) => reason)

/**
 * The failures of an agent or a webhook that go on, or its last ones. They began with the first step
 * that has a failure after the last step that has successes alone.
 */
export type CountedFailures = {
  readonly isFailing: boolean
  /** The start of the first step. */
  readonly countedFrom: Instant
  /** Messages that failed, or attempts that were not accepted. */
  readonly failed: number
  /** With those that succeeded. */
  readonly ended: number
  /** The failures by their reason, the most frequent one first. */
  readonly reasons: readonly { readonly reason: FailureReason; readonly count: number }[]
}

/** Returns undefined without a failure. The rows are of one subject, the oldest first. */
export function countedFailures(rows: readonly CountRow[]): CountedFailures | undefined {
  let isFailing = false
  let countedFrom: Instant | undefined
  for (const { at, counts } of rows) {
    const { failed, ended } = endsIn(counts)
    if (failed > 0 && !isFailing) countedFrom = at
    if (ended > 0) isFailing = failed > 0
  }
  if (countedFrom === undefined) return undefined
  const first = countedFrom
  const sum = rows
    .filter(({ at }) => at >= first)
    .reduce<Counts>((all, { counts }) => addCounts(all, counts), {})
  return { isFailing, countedFrom, ...endsIn(sum) }
}

function endsIn(counts: Counts): Pick<CountedFailures, 'failed' | 'ended' | 'reasons'> {
  const reasons = REASONS.map(({ reason, name }) => ({ reason, count: counts[name] ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
  const failed = reasons.reduce((all, { count }) => all + count, 0)
  return { failed, ended: failed + (counts.answered ?? 0) + (counts['class:2xx'] ?? 0), reasons }
}
