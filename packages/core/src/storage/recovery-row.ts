import {
  recoveryState,
  type RecoveryCounts,
  type RecoveryFailure,
  type RecoveryState,
} from '../domain/webhooks/recovery.js'
import type { Recovery, RecoveryFilter, RecoveryTask } from '../ports/recovery-store.js'

/** `lastPageAt` gives the running recoveries their turns. At first it is the creation time. */
export type RecoveryRow = ReturnType<typeof recoveryColumns> & { readonly seq: number }

/**
 * `lastEndAt` and `lastLeftAt` are the last ends of a delivery, of one that left the recovery too.
 * Columns that are not needed are null.
 */
export type CountedRecoveryRow = RecoveryRow &
  RecoveryCounts & {
    readonly lastEndAt: number | null
    readonly lastLeftAt: number | null
    readonly triedDeliveryId: string | null
    readonly triedAttempt: number | null
  }

/** The columns that a page or a cancellation writes. */
export const RECOVERY_UPDATE = [
  'state',
  'failure',
  'matched',
  'redelivered',
  'pageCursor',
  'lastPageAt',
  'finishedAt',
] as const satisfies readonly (keyof RecoveryRow)[]

export const RECOVERY_COLUMNS = [
  'id',
  'projectId',
  'filter',
  ...RECOVERY_UPDATE,
  'createdAt',
] as const satisfies readonly (keyof RecoveryRow)[]

export const toRecoveryTask = (row: Omit<RecoveryRow, 'seq'>): RecoveryTask => ({
  id: row.id,
  projectId: row.projectId,
  filter: JSON.parse(row.filter) as RecoveryFilter,
  state: toState(row),
  matched: row.matched,
  redelivered: row.redelivered,
  ...(row.pageCursor !== null && { cursor: row.pageCursor }),
  createdAt: row.createdAt,
})

export function toRecovery(row: CountedRecoveryRow): Recovery {
  const task = toRecoveryTask(row)
  const { waiting, failing, delivered, exhausted, cancelled, triedDeliveryId, triedAttempt } = row
  const counts = { waiting, failing, delivered, exhausted, cancelled }
  const lastEndAt = Math.max(row.lastPageAt, row.lastEndAt ?? 0, row.lastLeftAt ?? 0)
  const state = recoveryState(task.state, counts, lastEndAt)
  return {
    ...task,
    ...counts,
    state,
    ...(triedDeliveryId !== null && { triedDeliveryId }),
    ...(triedAttempt !== null && { triedAttempt }),
  }
}

/** `now` is the time of the commit. */
export const recoveryColumns = (recovery: RecoveryTask, now: number) => ({
  id: recovery.id,
  projectId: recovery.projectId,
  filter: JSON.stringify(recovery.filter),
  state: recovery.state.kind,
  failure: recovery.state.kind === 'failed' ? recovery.state.reason : null,
  matched: recovery.matched,
  redelivered: recovery.redelivered,
  pageCursor: recovery.cursor ?? null,
  lastPageAt: now,
  finishedAt: finishedAtOf(recovery.state),
  createdAt: recovery.createdAt,
})

export const finishedAtOf = (state: RecoveryState): number | null =>
  'finishedAt' in state ? state.finishedAt : null

function toState({ state: kind, finishedAt, failure }: Omit<RecoveryRow, 'seq'>): RecoveryState {
  switch (kind) {
    case 'running':
    case 'trying':
    case 'paused':
    case 'sending':
      return { kind }
    case 'done':
    case 'cancelled':
      return { kind, finishedAt: finishedAt as number }
    case 'failed':
      return { kind, finishedAt: finishedAt as number, reason: failure as RecoveryFailure }
  }
}
