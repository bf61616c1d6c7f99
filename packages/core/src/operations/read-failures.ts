import { ok, safeTry } from 'neverthrow'
import type { Agent } from '../domain/agents/agent.js'
import type { RunError } from '../domain/messages/run.js'
import { COUNT_STEPS, DAY_MS, startOf, type CountRow } from '../domain/operations/counts.js'
import { countedFailures, type CountedFailures } from '../domain/operations/failures.js'
import { invalid } from '../domain/values/input-rules.js'
import type { Instant } from '../domain/values/instant.js'
import { cutText } from '../domain/webhooks/delivery.js'
import type { LastFailure } from '../domain/webhooks/delivery.js'
import type { ReadWebhook } from '../domain/webhooks/webhook.js'
import { chain, type Chained } from '../pacing/chain.js'
import { listWebhooks } from '../webhooks/manage-webhooks.js'
import type { Needs } from './context.js'

export type ReadFailuresInput = {
  readonly projectId: string
  /** Within the last 48 hours. Default: 24 hours ago. */
  readonly from?: Instant | undefined
}

/** The failures of an agent or a webhook that go on, or its last ones. */
export type Failure = CountedFailures & {
  readonly subject: 'agent' | 'webhook'
  readonly id: string
  /** Of a webhook without a description, the URL. */
  readonly name: string
  /** Absent if an agent did not start, and failed no message. */
  readonly since?: Instant
  /** The failures since `recentFrom`. */
  readonly recent: number
  /** The newest failed message, or the newest attempt that was not accepted. */
  readonly last?: FailureExample
}

/** `reason`: the code of the error, the status of the receiver, or why it was not reached. */
export type FailureExample = {
  readonly reason: string
  /** The first 200 characters. */
  readonly text: string
  /** The message or the delivery. Absent if an agent did not start. */
  readonly id?: string
  readonly failedAt?: Instant
}

/** Those that fail now come first, and then those with the most failures. */
export type Failures = {
  readonly from: Instant
  readonly recentFrom: Instant
  readonly failures: readonly Failure[]
}

const [STEP, LONG_STEP] = COUNT_STEPS
/** With more rows of five minutes, the rows of hours are read. */
const MOST_ROWS = 10_000
const MOST_FAILURES = 100
const RECENT_STEPS = 3

type Reads = Needs<'clock' | 'policy' | 'storage'>
type Range = { readonly from: Instant; readonly recentFrom: Instant; readonly now: Instant }
type Counted = { readonly counted: CountedFailures | undefined; readonly recent: number }

export const readFailures =
  (d: Reads) =>
  ({ projectId, from: asked }: ReadFailuresInput) =>
    safeTry(async function* () {
      const now = d.clock.now()
      const from = asked ?? now - DAY_MS
      if (from > now || from < now - STEP.keptMs)
        return invalid('from', 'must be within the last 48 hours')
      const range = {
        from: startOf(from, STEP.ms),
        recentFrom: startOf(now, STEP.ms) - (RECENT_STEPS - 1) * STEP.ms,
        now,
      }
      const { webhooksPerProject, agentsPerProject } = d.policy.limits
      const webhooks = yield* listWebhooks(d)({ projectId, limit: webhooksPerProject })
      const agents = yield* chain(d.storage.agents.list(projectId, { limit: agentsPerProject }))
      const byWebhook = yield* countsOf(d, projectId, 'webhook', range)
      const byAgent = yield* countsOf(d, projectId, 'agent', range)
      const found = [
        ...webhooks.data.flatMap((one) =>
          failureOf(subjectOfWebhook(one), byWebhook(one.id), from),
        ),
        ...agents.data.flatMap((one) => failureOf(subjectOfAgent(one), byAgent(one.id), from)),
      ]
      const failures = found
        .sort((a, b) => Number(b.isFailing) - Number(a.isFailing) || b.failed - a.failed)
        .slice(0, MOST_FAILURES)
      const shown: Failure[] = []
      for (const failure of failures)
        shown.push(
          failure.subject === 'agent' ? yield* withExample(d, projectId, failure) : failure,
        )
      return ok({ from: range.from, recentFrom: range.recentFrom, failures: shown })
    })

/** Returns the failures by the id of their agent or webhook. */
const countsOf = (
  { storage }: Reads,
  projectId: string,
  subject: Failure['subject'],
  { from, recentFrom, now }: Range,
): Chained<(id: string) => Counted> =>
  safeTry(async function* () {
    const read = (stepMs: number, first: Instant, limit?: number) =>
      chain(
        storage.counts.read({
          ...{ projectId, subject, stepMs, from: startOf(first, stepMs), to: startOf(now, stepMs) },
          ...(limit !== undefined && { limit }),
        }),
      )
    const fine = yield* read(STEP.ms, from, MOST_ROWS)
    const isFine = fine.length < MOST_ROWS
    const rows = isFine ? fine : yield* read(LONG_STEP.ms, from)
    const late = isFine
      ? fine.filter(({ at }) => at >= recentFrom)
      : yield* read(STEP.ms, recentFrom)
    const [all, recent] = [rows, late].map((some) => Map.groupBy(some, ({ id }) => id))
    const counted = (by: Map<string, CountRow[]> | undefined, id: string) =>
      countedFailures(by?.get(id) ?? [])
    return ok((id: string) => ({
      counted: counted(all, id),
      recent: counted(recent, id)?.failed ?? 0,
    }))
  })

/** An agent or a webhook, as far as its own state tells of failures. */
type Subject = Pick<Failure, 'subject' | 'id' | 'name' | 'last'> & {
  readonly failsNow: boolean
  readonly failingSince?: Instant | undefined
}

function subjectOfWebhook({
  id,
  url,
  description,
  health,
  status,
  lastFailure,
}: ReadWebhook): Subject {
  const disabledAt =
    status.kind === 'disabled' && status.reason !== 'operator' ? status.at : undefined
  return {
    ...{ subject: 'webhook', id, name: description ?? url },
    failsNow: disabledAt !== undefined || health.consecutiveFailures > 0,
    failingSince: health.failingSince ?? disabledAt,
    ...(lastFailure && { last: attemptExample(lastFailure) }),
  }
}

const subjectOfAgent = ({ id, name, state }: Agent): Subject => ({
  ...{ subject: 'agent', id, name, failsNow: state.kind === 'error' },
  ...(state.kind === 'error' && { last: errorExample(state.lastError) }),
})

const NO_FAILURES = { failed: 0, ended: 0, reasons: [] }

function failureOf(
  { failsNow, failingSince, ...subject }: Subject,
  { counted, recent }: Counted,
  from: Instant,
): Failure[] {
  if (!failsNow && !counted) return []
  const { countedFrom } = counted ?? {}
  // Failures among successes began before those in a row.
  const isExact =
    failsNow && failingSince !== undefined && failingSince < (countedFrom ?? from) + STEP.ms
  const since = isExact ? failingSince : countedFrom
  return [
    {
      ...NO_FAILURES,
      countedFrom: from,
      ...counted,
      ...subject,
      isFailing: failsNow || counted?.isFailing === true,
      recent,
      ...(since !== undefined && { since }),
    },
  ]
}

/** A failed message tells more than the last start of its agent. */
const withExample = ({ storage }: Reads, projectId: string, failure: Failure): Chained<Failure> => {
  const filter = { projectId, agentId: failure.id, state: 'failed' } as const
  return chain(storage.messages.list(filter, { limit: 1 })).map(({ data: [message] }) => {
    if (message?.state.kind !== 'failed') return failure
    const { error, failedAt } = message.state
    return { ...failure, last: { ...errorExample(error), id: message.id, failedAt } }
  })
}

const errorExample = ({ code, message }: RunError): FailureExample => ({
  reason: code,
  text: cutText(message),
})

const attemptExample = ({
  deliveryId: id,
  startedAt: failedAt,
  outcome,
}: LastFailure): FailureExample =>
  outcome.kind === 'unreachable'
    ? { id, failedAt, reason: outcome.error, text: cutText(outcome.detail) }
    : { id, failedAt, reason: String(outcome.statusCode), text: cutText(outcome.responseBody) }
