import { toIso, toIsoIfSet } from '../domain/values/instant.js'
import type { DeliveryFilterStatus } from '../domain/webhooks/delivery.js'
import type { RecoverySettings, RecoveryState } from '../domain/webhooks/recovery.js'
import type { Recovery } from '../ports/recovery-store.js'

/** A recovery as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownRecovery = Omit<
  Recovery,
  'projectId' | 'state' | 'filter' | 'cursor' | 'createdAt'
> & {
  readonly status: RecoveryState['kind']
  /** Present if the status is `failed`. */
  readonly failure?: 'webhook_deleted'
  readonly filter: Omit<RecoverySettings, 'status' | 'createdAfter' | 'createdBefore'> & {
    readonly status: DeliveryFilterStatus
    readonly createdAfter?: string | undefined
    readonly createdBefore: string
  }
  readonly createdAt: string
  readonly finishedAt?: string
}

export const shownRecovery = ({
  id,
  state,
  filter: { createdAfter, createdBefore, ...filter },
  createdAt,
  projectId: _,
  cursor: __,
  ...counts
}: Recovery): ShownRecovery => ({
  id,
  status: state.kind,
  ...(state.kind === 'failed' && { failure: state.reason }),
  filter: {
    ...filter,
    createdAfter: toIsoIfSet(createdAfter),
    createdBefore: toIso(createdBefore),
  },
  ...counts,
  createdAt: toIso(createdAt),
  ...('finishedAt' in state && { finishedAt: toIso(state.finishedAt) }),
})
