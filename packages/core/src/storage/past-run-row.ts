import type { PastRun } from '../domain/messages/past-run.js'
import type { RunError } from '../domain/messages/run.js'
import type { RunUsage } from '../domain/operations/usage.js'

/** `error` and `usage` are JSON. */
export type PastRunRow = Pick<PastRun, 'attempt' | 'startedAt' | 'endedAt' | 'reason'> & {
  readonly messageId: string
  readonly error: string | null
  readonly usage: string | null
}

export const PAST_RUN_COLUMNS = [
  'messageId',
  'attempt',
  'startedAt',
  'endedAt',
  'reason',
  'error',
  'usage',
] as const satisfies readonly (keyof PastRunRow)[]

/** The newest runs of a message that a store returns. */
export const MOST_PAST_RUNS = 100

export const pastRunRow = (
  messageId: string,
  { attempt, startedAt, endedAt, reason, error, usage }: PastRun,
): PastRunRow => ({
  messageId,
  attempt,
  startedAt,
  endedAt,
  reason,
  error: error ? JSON.stringify(error) : null,
  usage: usage ? JSON.stringify(usage) : null,
})

export const toPastRun = ({
  attempt,
  startedAt,
  endedAt,
  reason,
  error,
  usage,
}: PastRunRow): PastRun => ({
  attempt,
  startedAt,
  endedAt,
  reason,
  ...(error !== null && { error: JSON.parse(error) as RunError }),
  ...(usage !== null && { usage: JSON.parse(usage) as RunUsage }),
})
