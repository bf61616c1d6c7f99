import type { Instant } from '../domain/instant.js'
import { groupBy, isBefore, type DeliveryStep, type History, type RunStep, type Span } from './history.js'

/** What the history says against the promise that a lease, a deferral, a backoff and a retry's delay are waited for. */
export function leaseViolations({ runs, deliveries }: History): string[] {
  return [
    ...[...groupBy(runs, ({ messageId }) => messageId)].flatMap(([id, steps]) => tooEarly(`message ${id}`, steps, runDueAt)),
    ...[...groupBy(deliveries, ({ deliveryId }) => deliveryId)].flatMap(([id, steps]) => tooEarly(`delivery ${id}`, steps, deliveryDueAt)),
  ]
}

type Step = Span & { readonly token: number } & (
    | { readonly kind: 'claimed'; readonly now: Instant }
    | { readonly kind: string; readonly now?: never }
  )

/**
 * Each claim must come when what was done under the claim before it is over. Where other steps overlap with it, either order
 * is fine, and nothing is checked.
 */
function tooEarly<S extends Step>(name: string, steps: readonly S[], dueAt: (step: S) => Instant | undefined): string[] {
  const done = steps.filter((step) => dueAt(step) !== undefined).sort((a, b) => a.to - b.to)
  return done.flatMap((claim) => {
    if (claim.now === undefined) return []
    const isContended = done.some((other) => other !== claim && !isBefore(other, claim) && !isBefore(claim, other))
    const last = done.findLast((other) => isBefore(other, claim))
    const due = last && dueAt(last)
    return isContended || due === undefined || claim.now >= due ? [] : [`${name} was claimed ${due - claim.now} ms too early`]
  })
}

/** When the next claim may come after this step; undefined for one that was refused. */
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
  return step.state.kind === 'pending' ? step.state.nextAttemptAt : Infinity
}
