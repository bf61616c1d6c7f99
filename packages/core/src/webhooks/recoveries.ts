import { ok, safeTry } from 'neverthrow'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { broken } from '../domain/values/input-rules.js'
import { ofPage, type ListInput } from '../domain/values/page-rules.js'
import { rulesOf } from '../domain/values/setting.js'
import {
  NOTHING_SENT,
  recoverySettings,
  type RecoverySettings,
} from '../domain/webhooks/recovery.js'
import type { Recovery } from '../ports/recovery-store.js'
import type { Changing, Reading } from '../platform.js'
import type { Needs } from './context.js'
import { getWebhook } from './manage-webhooks.js'
import { chain, existing } from '../pacing/chain.js'

export type StartRecoveryInput = ByActor & {
  readonly projectId: string
  /** Exhausted deliveries of all webhooks if absent. */
  readonly filter?: RecoverySettings
}
export type RecoveryRef = {
  readonly projectId: string
  /** The id of the recovery. */
  readonly recoveryId: string
}
const MOST_RUNNING = 20

export const startRecovery =
  (d: Changing & Needs<'recoveryRunner'>) =>
  ({ projectId, filter = {}, actor }: StartRecoveryInput) =>
    safeTry(async function* () {
      const problem = broken(rulesOf(recoverySettings, filter))
      if (problem) return problem
      const { webhookId, status = 'exhausted', createdBefore = Infinity } = filter
      if (webhookId !== undefined) yield* getWebhook(d)({ projectId, webhookId })
      const now = d.clock.now()
      const recovery: Recovery = {
        ...NOTHING_SENT,
        id: d.ids.next(),
        projectId,
        filter: { ...filter, status, createdBefore: Math.min(createdBefore, now + 1) },
        state: { kind: 'running' },
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
    })

export const getRecovery =
  (d: Reading) =>
  ({ projectId, recoveryId }: RecoveryRef) =>
    existing(d.storage.recoveries.get(projectId, recoveryId), 'recovery_not_found')

export const listRecoveries =
  (d: Reading) =>
  ({ projectId, ...page }: ListInput) =>
    ofPage(page, (checked) => chain(d.storage.recoveries.list(projectId, checked)))

export const cancelRecovery =
  (d: Changing) =>
  ({ projectId, recoveryId, actor }: RecoveryRef & ByActor) => {
    const audit = auditEntry(d, {
      projectId,
      action: 'recovery.cancelled',
      targetId: recoveryId,
      actor,
    })
    return chain(d.storage.recoveries.cancel(projectId, recoveryId, d.clock.now(), audit)).andThen(
      (cancelled) => {
        if (cancelled === undefined) return fail('recovery_not_found')
        return cancelled === 'already_final' ? fail('recovery_final') : ok(cancelled)
      },
    )
  }
