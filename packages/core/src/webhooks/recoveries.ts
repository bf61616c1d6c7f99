import { ok, safeTry } from 'neverthrow'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { broken, type Rule } from '../domain/values/input-rules.js'
import { ofPage, type ListInput } from '../domain/values/page-rules.js'
import { given } from '../domain/values/given.js'
import { newRulesOf, rulesOf } from '../domain/values/setting.js'
import {
  NOTHING_SENT,
  recoverySettings,
  replaySettings,
  type RecoveryDecision,
  type RecoverySettings,
  type ReplaySettings,
} from '../domain/webhooks/recovery.js'
import type { Recovery, RecoveryFilter } from '../ports/recovery-store.js'
import type { Changing, Reading } from '../platform.js'
import type { Needs } from './context.js'
import { getWebhook } from './manage-webhooks.js'
import { chain, existing } from '../pacing/chain.js'

export type StartRecoveryInput = ByActor & {
  readonly projectId: string
  /** Exhausted deliveries of all webhooks if absent. */
  readonly filter?: RecoverySettings
  /** Sends events of the log instead, as new deliveries. */
  readonly events?: ReplaySettings | undefined
  /** Sends one delivery first. If it is not accepted, the recovery pauses. Default: false. */
  readonly tryFirst?: boolean
}
export type RecoveryRef = {
  readonly projectId: string
  /** The id of the recovery. */
  readonly recoveryId: string
}
const MOST_RUNNING = 20

export const startRecovery =
  (d: Changing & Needs<'recoveryRunner'>) =>
  ({ projectId, filter = {}, events, tryFirst = false, actor }: StartRecoveryInput) =>
    safeTry(async function* () {
      const isMixed = tryFirst || Object.keys(given(filter)).length > 0
      const rules = events ? replayRules(events, isMixed) : rulesOf(recoverySettings, filter)
      const problem = broken(rules)
      if (problem) return problem
      for (const webhookId of [events?.webhookIds ?? filter.webhookId ?? []].flat())
        yield* getWebhook(d)({ projectId, webhookId })
      const { status = 'exhausted' } = filter
      const chosen = events
        ? ({ ...events, webhookIds: [...new Set(events.webhookIds)], status: 'pending' } as const)
        : { ...filter, status }
      return yield* createRecovery(d, { projectId, actor, filter: chosen, tryFirst })
    })

function replayRules(events: ReplaySettings, isMixed: boolean): Record<string, Rule> {
  const rules = newRulesOf(replaySettings, events, 'events.')
  const { createdAfter, createdBefore = Infinity } = events
  return {
    ...rules,
    ...(createdAfter >= createdBefore && {
      'events.createdBefore': 'must be after events.createdAfter',
    }),
    ...(isMixed && { events: 'must be the only field' }),
  }
}

type NewRecovery = ByActor &
  Required<Pick<StartRecoveryInput, 'projectId' | 'tryFirst'>> & {
    readonly filter: Omit<RecoveryFilter, 'createdBefore'> & Pick<ReplaySettings, 'createdBefore'>
  }

/** Creates a recovery and begins its work. */
export async function* createRecovery(
  d: Changing & Needs<'recoveryRunner'>,
  { projectId, filter, tryFirst, actor }: NewRecovery,
) {
  const now = d.clock.now()
  const recovery: Recovery = {
    ...NOTHING_SENT,
    id: d.ids.next(),
    projectId,
    filter: { ...filter, createdBefore: Math.min(filter.createdBefore ?? Infinity, now + 1) },
    state: { kind: tryFirst ? 'trying' : 'running' },
    matched: 0,
    redelivered: 0,
    createdAt: now,
  }
  const audit = auditEntry(d, {
    projectId,
    action: 'recovery.started',
    targetId: recovery.id,
    actor,
  })
  const created = yield* chain(d.storage.recoveries.create(recovery, MOST_RUNNING, audit))
  if (created === 'limit_reached') return fail('too_many_recoveries')
  d.recoveryRunner.wake()
  return ok(recovery)
}

/** `tried`: the attempt that paused the recovery. */
export const getRecovery =
  (d: Reading) =>
  ({ projectId, recoveryId }: RecoveryRef) =>
    safeTry(async function* () {
      const recovery = yield* existing(
        d.storage.recoveries.get(projectId, recoveryId),
        'recovery_not_found',
      )
      const { triedDeliveryId: deliveryId = '', triedAttempt } = recovery
      const found = deliveryId && (yield* chain(d.storage.deliveries.get(projectId, deliveryId)))
      const tried = found
        ? found.attempts.find(({ attemptNumber }) => attemptNumber === triedAttempt)
        : undefined
      return ok({ ...recovery, tried })
    })

export const listRecoveries =
  (d: Reading) =>
  ({ projectId, ...page }: ListInput) =>
    ofPage(page, (checked) => chain(d.storage.recoveries.list(projectId, checked)))

/** Cancels the search of a recovery, or continues a paused recovery. */
export const decideRecovery =
  <const K extends string>(
    d: Changing & Needs<'recoveryRunner'>,
    decision: RecoveryDecision,
    tooLate: K,
  ) =>
  ({ projectId, recoveryId, actor }: RecoveryRef & ByActor) => {
    const action = decision === 'cancel' ? 'recovery.cancelled' : 'recovery.continued'
    const audit = auditEntry(d, { projectId, action, targetId: recoveryId, actor })
    const now = d.clock.now()
    return chain(d.storage.recoveries.decide(projectId, recoveryId, decision, now, audit)).andThen(
      (decided) => {
        if (decided === undefined) return fail('recovery_not_found')
        if (decided === 'too_late') return fail(tooLate)
        d.recoveryRunner.wake()
        return ok(decided)
      },
    )
  }
