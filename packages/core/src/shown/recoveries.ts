import { toIso, toIsoIfSet } from '../domain/values/instant.js'
import type { DeliveryAttempt } from '../domain/webhooks/delivery.js'
import type {
  RecoveryFailure,
  RecoverySettings,
  RecoveryState,
} from '../domain/webhooks/recovery.js'
import type { Recovery, RecoveryFilter } from '../ports/recovery-store.js'
import { shownAttempt, type ShownAttempt } from './deliveries.js'

/** A recovery as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownRecovery = Omit<
  Recovery,
  'projectId' | 'state' | 'filter' | 'cursor' | 'createdAt' | 'triedDeliveryId' | 'triedAttempt'
> & {
  readonly status: RecoveryState['kind']
  /** Present if the status is `failed`. */
  readonly failure?: RecoveryFailure
  readonly filter: Omit<RecoverySettings, 'status' | 'createdAfter' | 'createdBefore'> &
    Pick<RecoveryFilter, 'status' | 'agentId' | 'errorCode' | 'webhookIds' | 'types'> & {
      readonly createdAfter?: string | undefined
      readonly createdBefore: string
    }
  /** The attempt that paused the recovery. Only when you read one recovery. */
  readonly tried?: ShownAttempt | undefined
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
  triedDeliveryId: ___,
  triedAttempt: ____,
  tried,
  ...counts
}: Recovery & { readonly tried?: DeliveryAttempt | undefined }): ShownRecovery => ({
  id,
  status: state.kind,
  ...(state.kind === 'failed' && { failure: state.reason }),
  filter: {
    ...filter,
    createdAfter: toIsoIfSet(createdAfter),
    createdBefore: toIso(createdBefore),
  },
  ...counts,
  ...(tried && { tried: shownAttempt(tried) }),
  createdAt: toIso(createdAt),
  ...('finishedAt' in state && { finishedAt: toIso(state.finishedAt) }),
})
