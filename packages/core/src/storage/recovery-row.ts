import type { RecoveryState } from '../domain/webhooks/recovery.js'
import type { Recovery, RecoveryFilter } from '../ports/recovery-store.js'

/** `lastPageAt` gives the running recoveries their turns. At first it is the creation time. */
export type RecoveryRow = ReturnType<typeof recoveryColumns> & { readonly seq: number }

export const RECOVERY_COLUMNS = [
  'id',
  'projectId',
  'filter',
  'state',
  'failure',
  'matched',
  'redelivered',
  'pageCursor',
  'lastPageAt',
  'finishedAt',
  'createdAt',
] as const satisfies readonly (keyof RecoveryRow)[]

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

export const toRecovery = (row: Omit<RecoveryRow, 'seq'>): Recovery => ({
  id: row.id,
  projectId: row.projectId,
  filter: JSON.parse(row.filter) as RecoveryFilter,
  state: toState(row),
  matched: row.matched,
  redelivered: row.redelivered,
  ...(row.pageCursor !== null && { cursor: row.pageCursor }),
  createdAt: row.createdAt,
})

/** `now` is the time of the commit. */
export const recoveryColumns = (recovery: Recovery, now: number) => ({
  id: recovery.id,
  projectId: recovery.projectId,
  filter: JSON.stringify(recovery.filter),
  state: recovery.state.kind,
  failure: recovery.state.kind === 'failed' ? recovery.state.reason : null,
  matched: recovery.matched,
  redelivered: recovery.redelivered,
  pageCursor: recovery.cursor ?? null,
  lastPageAt: now,
  finishedAt: recovery.state.kind === 'running' ? null : recovery.state.finishedAt,
  createdAt: recovery.createdAt,
})

function toState({ state: kind, finishedAt, failure }: Omit<RecoveryRow, 'seq'>): RecoveryState {
  switch (kind) {
    case 'running':
      return { kind }
    case 'done':
    case 'cancelled':
      return { kind, finishedAt: finishedAt as number }
    case 'failed':
      return { kind, finishedAt: finishedAt as number, reason: failure ?? 'webhook_deleted' }
  }
}
