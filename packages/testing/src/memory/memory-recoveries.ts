import type { AuditEntry, Instant, Recovery, Page } from '@org/agent-messaging-core'
import {
  decidedRecovery,
  recoveryAfterPage,
  recoveryState,
  triedState,
  type RecoveryDecision,
  type RecoveryStore,
  type RecoveryTask,
  type PageOf,
  type Tries,
  type Purge,
  type Settlement,
} from '@org/agent-messaging-core/storage'
import type { MemoryDeliveries } from './memory-deliveries.js'
import { finishedAt, isOpen } from './memory-delivery-rows.js'
import { ofProject, type Immediate, type Memory, type RecoveryRow } from './memory.js'
import { recorded } from './memory-audit.js'
import { newestFirst } from './memory-page.js'

export class MemoryRecoveries implements Immediate<RecoveryStore> {
  readonly #memory: Memory
  readonly #deliveries: MemoryDeliveries

  constructor(memory: Memory, deliveries: MemoryDeliveries) {
    this.#memory = memory
    this.#deliveries = deliveries
  }

  create(task: RecoveryTask, limit: number, audit?: AuditEntry): 'created' | 'limit_reached' {
    const { recoveries } = this.#memory
    if (recoveries.has(task.id)) return 'created'
    const unended = this.#rows().filter(
      (row) => row.task.projectId === task.projectId && isSearching(row),
    )
    if (unended.length >= limit) return 'limit_reached'
    recoveries.set(task.id, { task, lastPageAt: task.createdAt, leavers: [] })
    return recorded(this.#memory, audit, 'created')
  }

  get(projectId: string, id: string): Recovery | undefined {
    const row = this.#memory.recoveries.get(id)
    return row && ofProject(this.#counted(row), projectId)
  }

  list(projectId: string, page: PageOf): Page<Recovery> {
    const all = this.#rows().map((row) => this.#counted(row))
    return newestFirst(
      all.filter((recovery) => recovery.projectId === projectId),
      page,
    )
  }

  decide(
    projectId: string,
    id: string,
    decision: RecoveryDecision,
    now: Instant,
    audit?: AuditEntry,
  ): Recovery | 'too_late' | undefined {
    const row = this.#memory.recoveries.get(id)
    if (!row || row.task.projectId !== projectId) return undefined
    const state = decidedRecovery(row.task.state, decision, now)
    if (!state) return 'too_late'
    this.#save(row, { ...row.task, state }, now)
    return recorded(this.#memory, audit, this.get(projectId, id))
  }

  /** The rows are in the order of their turns: `#save` moves a row to the end. */
  advance({ limit, now }: { limit: number; now: Instant }): RecoveryTask | undefined {
    const row = this.#running().find((one) => this.#hasTurn(one))
    if (!row) return undefined
    const { id, projectId, filter, cursor, createdAt } = row.task
    if (filter.webhookId !== undefined && !this.#memory.webhooks.has(filter.webhookId)) {
      const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
      return this.#save(row, { ...row.task, state }, now)
    }
    const isTry = row.task.state.kind === 'trying'
    const state = isTry ? triedState(this.#tries(row)) : row.task.state
    if (state.kind !== row.task.state.kind) return this.#save(row, { ...row.task, state }, now)
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const found = { ...filter, projectId }
    const recovered = this.#deliveries.redeliver(found, page, now, undefined, { id, isTry })
    const progress = recoveryAfterPage(row.task, recovered)
    return this.#save(row, { id, projectId, filter, createdAt, ...progress }, now)
  }

  settle({ limit, now, pausedBefore }: Settlement): Recovery[] {
    const state = { kind: 'cancelled', finishedAt: now } as const
    this.#rows()
      .filter(({ task, lastPageAt }) => task.state.kind === 'paused' && lastPageAt < pausedBefore)
      .slice(0, limit)
      .forEach((row) => this.#save(row, { ...row.task, state }, row.lastPageAt))
    const ended = this.#rows()
      .filter((row) => !row.settled && !isSearching(row))
      .map((row) => ({ row, settled: this.#counted(row) }))
      .filter(({ settled }) => settled.waiting + settled.failing === 0)
      .slice(0, limit)
    for (const { row, settled } of ended)
      this.#memory.recoveries.set(settled.id, { ...row, settled })
    return ended.map(({ settled }) => settled)
  }

  purge({ finishedBefore, limit }: Purge): number {
    const purged = this.#rows()
      .filter(({ settled }) => settled && endOf(settled) < finishedBefore)
      .slice(0, limit)
    for (const { task } of purged) this.#memory.recoveries.delete(task.id)
    return purged.length
  }

  #rows(): RecoveryRow[] {
    return [...this.#memory.recoveries.values()]
  }

  #running(): RecoveryRow[] {
    return this.#rows().filter((row) => isSearching(row) && row.task.state.kind !== 'paused')
  }

  #hasTurn(row: RecoveryRow): boolean {
    return row.task.state.kind !== 'trying' || this.#counted(row).waiting === 0
  }

  #tries(row: RecoveryRow): Tries {
    const attempted = this.#deliveriesOf(row).filter(
      ({ attemptCount, before }) => attemptCount > before,
    )
    const left = row.leavers.filter(({ kind }) => kind !== 'cancelled')
    return {
      delivered: this.#counted(row).delivered,
      attempted: attempted.length + left.length,
    }
  }

  #deliveriesOf({ task }: RecoveryRow) {
    return [...this.#memory.deliveries.values()].flatMap(({ recovery, delivery }) =>
      recovery?.id === task.id ? { ...delivery, before: recovery.attempts } : [],
    )
  }

  #counted(row: RecoveryRow): Recovery {
    const { task, lastPageAt, leavers, settled } = row
    if (settled) return settled
    const rows = this.#deliveriesOf(row)
    const open = rows.filter(({ state }) => isOpen(state))
    const ended = [...leavers, ...rows.map(({ state }) => state)].map(({ kind }) => kind)
    const waiting = open.filter(({ attemptCount, before }) => attemptCount <= before).length
    const counts = {
      waiting,
      failing: open.length - waiting,
      delivered: ended.filter((kind) => kind === 'delivered').length,
      exhausted: ended.filter((kind) => kind === 'exhausted').length,
      cancelled: ended.filter((kind) => kind === 'cancelled').length,
    }
    const ends = [
      ...leavers.map((one) => one.finishedAt),
      ...rows.map((one) => finishedAt(one.state)),
    ]
    const lastEndAt = Math.max(lastPageAt, ...ends)
    const state = recoveryState(task.state, counts, lastEndAt)
    const tried = state.kind === 'paused' ? rows[0] : undefined
    return {
      ...task,
      ...counts,
      state,
      ...(tried && { triedDeliveryId: tried.id, triedAttempt: tried.before + 1 }),
    }
  }

  #save(row: RecoveryRow, task: RecoveryTask, lastPageAt: Instant): RecoveryTask {
    this.#memory.recoveries.delete(task.id)
    this.#memory.recoveries.set(task.id, { ...row, task, lastPageAt })
    return task
  }
}

const isSearching = ({ task }: RecoveryRow): boolean =>
  ['running', 'trying', 'paused'].includes(task.state.kind)

const endOf = ({ state }: Recovery): Instant => ('finishedAt' in state ? state.finishedAt : 0)
