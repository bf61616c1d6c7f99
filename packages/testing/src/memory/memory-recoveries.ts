import type { AuditEntry, Instant, Recovery, Page } from '@org/agent-messaging-core'
import { changedAt } from '@org/agent-messaging-core/host'
import {
  countedAs,
  decidedRecovery,
  isReplayed,
  recoveryAfterPage,
  recoveryState,
  replayedEvent,
  RETRY_PAUSE_MS,
  triedState,
  type RecoveryCounts,
  type RecoveryDecision,
  type RecoveryStep,
  type RecoveryStore,
  type RecoveryTask,
  type PageOf,
  type Tries,
  type Purge,
  type Settlement,
} from '@org/agent-messaging-core/storage'
import type { MemoryDeliveries } from './memory-deliveries.js'
import { finishedAt, isOpen } from './memory-delivery-rows.js'
import type { MemoryMessages } from './memory-messages.js'
import { ofProject, type Immediate, type Memory, type RecoveryRow } from './memory.js'
import { recorded } from './memory-audit.js'
import { positionOf } from './memory-event-log.js'
import { replayOne } from './memory-outbox.js'
import { newestFirst } from './memory-page.js'

export class MemoryRecoveries implements Immediate<RecoveryStore> {
  readonly #memory: Memory
  readonly #deliveries: MemoryDeliveries
  readonly #messages: MemoryMessages

  constructor(memory: Memory, deliveries: MemoryDeliveries, messages: MemoryMessages) {
    this.#memory = memory
    this.#deliveries = deliveries
    this.#messages = messages
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
  advance(step: RecoveryStep): RecoveryTask | undefined {
    const { limit, now } = step
    const row = this.#running().find((one) => this.#hasTurn(one, now))
    if (!row) return undefined
    const { id, projectId, filter, cursor, createdAt } = row.task
    if (filter.agentId !== undefined) return this.#retryPage(row, filter.agentId, { limit, now })
    const replayed = filter.webhookIds && this.#replayPage(row.task, filter.webhookIds, step)
    if (replayed) {
      const progress = recoveryAfterPage(row.task, { ...replayed, matched: replayed.count })
      return this.#save(row, { id, projectId, filter, createdAt, ...progress }, now)
    }
    const isGone = filter.webhookId !== undefined && !this.#memory.webhooks.has(filter.webhookId)
    if (filter.webhookIds || isGone) {
      const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
      return this.#save(row, { ...row.task, state }, now)
    }
    const isTry = row.task.state.kind === 'trying'
    const state = isTry ? triedState(this.#tries(row)) : row.task.state
    if (state.kind !== row.task.state.kind) return this.#save(row, { ...row.task, state }, now)
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const found = { ...filter, projectId, withoutHooks: true }
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

  /** Returns undefined if the webhooks are deleted. */
  #replayPage(
    { id, projectId, filter, cursor = '0' }: RecoveryTask,
    webhookIds: readonly string[],
    { limit, now, nextDeliveryId, serviceUrl }: RecoveryStep,
  ): { count: number; nextCursor: string | null } | undefined {
    const webhooks = webhookIds.flatMap((one) => this.#memory.webhooks.get(one) ?? [])
    if (webhooks.length === 0) return undefined
    const { types, createdAfter = 0, createdBefore } = filter
    const after = Number(cursor)
    const found = [...this.#memory.events.values()]
      .map((event) => ({ event, position: positionOf(this.#memory, event) }))
      .filter(
        ({ event, position }) =>
          event.projectId === projectId &&
          position > after &&
          event.createdAt >= createdAfter &&
          event.createdAt < createdBefore,
      )
      .sort((a, b) => a.position - b.position)
      .slice(0, limit)
    const pairs = found.flatMap(({ event: { agentId = null, sessionId = null, ...stored } }) => {
      const event = replayedEvent(
        { ...stored, agentId, sessionId },
        { projectId, ...(serviceUrl !== undefined && { serviceUrl }) },
      )
      return webhooks
        .filter((webhook) => isReplayed(webhook, types, event))
        .map((webhook) => ({ webhook, event }))
    })
    for (const { webhook, event } of pairs)
      replayOne(this.#memory, { event, webhook, deliveryId: nextDeliveryId(), recoveryId: id, now })
    const last = found.length === limit ? found.at(-1)?.position : undefined
    return { count: pairs.length, nextCursor: last === undefined ? null : String(last) }
  }

  /** Does the page as the SQL stores do. */
  #retryPage(
    row: RecoveryRow,
    agentId: string,
    { limit, now }: { limit: number; now: Instant },
  ): RecoveryTask {
    const { task } = row
    const { projectId, filter } = task
    if (!this.#memory.agents.has(agentId)) {
      const state = { kind: 'failed', finishedAt: now, reason: 'agent_deleted' } as const
      return this.#save(row, { ...task, state }, now)
    }
    const { errorCode, createdAfter = 0, createdBefore } = filter
    const failed = [...this.#memory.messages.values()].filter(
      ({ recovery, message: { agentId: agent, state, createdAt } }) =>
        agent === agentId &&
        (recovery ?? '') < task.id &&
        state.kind === 'failed' &&
        (errorCode === undefined || state.error.code === errorCode) &&
        createdAt >= createdAfter &&
        createdAt < createdBefore,
    )
    let count = 0
    for (const one of failed) {
      if (count >= limit) break
      const ref = { projectId, agentId, messageId: one.message.id }
      if (this.#messages.retry({ ...ref, now })?.kind !== 'retried') continue
      one.recovery = task.id
      count++
    }
    if (failed.length === 0) return this.#save(row, { ...task, state: { kind: 'sending' } }, now)
    const { matched, redelivered } = task
    const after = { ...task, matched: matched + count, redelivered: redelivered + count }
    return this.#save(row, after, count === 0 ? now + RETRY_PAUSE_MS : now)
  }

  #hasTurn(row: RecoveryRow, now: Instant): boolean {
    const { lastPageAt } = row
    if (lastPageAt > now && lastPageAt <= now + 2 * RETRY_PAUSE_MS) return false
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
    const retried = [...this.#memory.messages.values()]
      .filter(({ recovery }) => recovery === task.id)
      .map(({ message }) => message)
    const counted = (as: keyof RecoveryCounts) =>
      retried.filter((message) => countedAs(message) === as).length +
      ended.filter((kind) => kind === as).length
    const counts = {
      waiting: waiting + counted('waiting'),
      failing: open.length - waiting + counted('failing'),
      delivered: counted('delivered'),
      exhausted: counted('exhausted'),
      cancelled: counted('cancelled'),
    }
    const ends = [
      ...leavers.map((one) => one.finishedAt),
      ...rows.map((one) => finishedAt(one.state)),
      ...retried.map((message) => changedAt(message)),
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
