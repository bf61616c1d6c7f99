import type { Instant } from '@org/agent-messaging-core'
import {
  groupBy,
  isBefore,
  type DeliveryStep,
  type History,
  type RunStep,
  type Span,
} from '../history.js'

/**
 * Violations that the history shows of the promise that a lease, a deferral, a backoff and a
 * retry's delay are waited for.
 */
export function leaseViolations({ runs, deliveries }: History): string[] {
  return [
    ...[...groupBy(runs, ({ messageId }) => messageId)].flatMap(([id, steps]) =>
      tooEarly(`message ${id}`, steps, runDueAt),
    ),
    ...[...groupBy(deliveries, ({ deliveryId }) => deliveryId)].flatMap(([id, steps]) =>
      tooEarly(`delivery ${id}`, steps, deliveryDueAt),
    ),
  ]
}

type Step = Span & { readonly kind: string; readonly now?: Instant }

/**
 * Each claim must come after the end of the step before it. Overlapping steps can have happened in
 * either order: a step that overlaps the claim excuses it. If several steps can have been the last
 * one, the earliest end counts.
 */
function tooEarly<S extends Step>(
  name: string,
  steps: readonly S[],
  dueAt: (step: S) => Instant | undefined,
): string[] {
  const done = steps.filter((step) => dueAt(step) !== undefined)
  return done.flatMap((claim) => {
    const before = done.filter((other) => isBefore(other, claim))
    const isContended = done.some(
      (other) => other !== claim && !isBefore(other, claim) && !isBefore(claim, other),
    )
    if (claim.now === undefined || isContended || before.length === 0) return []
    const last = before.filter((step) => !before.some((other) => isBefore(step, other)))
    const due = Math.min(...last.map((step) => dueAt(step) ?? Infinity))
    return claim.now >= due ? [] : [`${name} was claimed ${due - claim.now} ms too early`]
  })
}

/** When the next claim can come after this step; undefined for one that was refused. */
function runDueAt(step: RunStep): Instant | undefined {
  if (step.kind === 'claimed') return step.claimed.lease.until
  if (!step.ok) return undefined
  if (step.kind === 'extended') return step.until
  if (step.kind === 'deferred') return step.deadlineAt
  return step.state.kind === 'queued' ? step.state.notBefore : Infinity
}

function deliveryDueAt(step: DeliveryStep): Instant | undefined {
  if (step.kind === 'claimed') return step.claimed.lease.until
  if (!step.ok) return undefined
  if (step.kind === 'released') return step.dueAt
  return step.state.kind === 'pending' ? step.state.nextAttemptAt : Infinity
}
