import {
  type AuditEntry,
  type Instant,
  recoveryAfterPage,
  type Recovery,
  type RecoveryStore,
  type Page,
  type PageOf,
  type Purge,
} from '@org/agent-messaging-core/storage'
import type { MemoryDeliveries } from './memory-deliveries.js'
import { ofProject, type Immediate, type Memory } from './memory.js'
import { recorded } from './memory-audit.js'
import { newestFirst } from './memory-page.js'

export class MemoryRecoveries implements Immediate<RecoveryStore> {
  readonly #memory: Memory
  readonly #deliveries: MemoryDeliveries

  constructor(memory: Memory, deliveries: MemoryDeliveries) {
    this.#memory = memory
    this.#deliveries = deliveries
  }

  create(recovery: Recovery, limit: number, audit?: AuditEntry): 'created' | 'limit_reached' {
    const { recoveries } = this.#memory
    if (recoveries.has(recovery.id)) return 'created'
    const running = this.#running().filter(({ projectId }) => projectId === recovery.projectId)
    if (running.length >= limit) return 'limit_reached'
    recoveries.set(recovery.id, recovery)
    return recorded(this.#memory, audit, 'created')
  }

  get(projectId: string, id: string): Recovery | undefined {
    return ofProject(this.#memory.recoveries.get(id), projectId)
  }

  list(projectId: string, page: PageOf): Page<Recovery> {
    const all = [...this.#memory.recoveries.values()]
    return newestFirst(
      all.filter((recovery) => recovery.projectId === projectId),
      page,
    )
  }

  cancel(
    projectId: string,
    id: string,
    now: Instant,
    audit?: AuditEntry,
  ): Recovery | 'already_final' | undefined {
    const recovery = this.get(projectId, id)
    if (recovery?.state.kind !== 'running') return recovery && 'already_final'
    const state = { kind: 'cancelled', finishedAt: now } as const
    return recorded(this.#memory, audit, this.#save({ ...recovery, state }))
  }

  /** The rows are in the order of their turns: `#save` moves a row to the end. */
  advance({ limit, now }: { limit: number; now: Instant }): Recovery | undefined {
    const [recovery] = this.#running()
    if (!recovery) return undefined
    const { id, projectId, filter, cursor, createdAt } = recovery
    if (filter.webhookId !== undefined && !this.#memory.webhooks.has(filter.webhookId)) {
      const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
      return this.#save({ ...recovery, state })
    }
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const recovered = this.#deliveries.redeliver({ ...filter, projectId }, page, now)
    const progress = recoveryAfterPage(recovery, recovered, now)
    return this.#save({ id, projectId, filter, createdAt, ...progress })
  }

  purge({ finishedBefore, limit }: Purge): number {
    const finished = [...this.#memory.recoveries.values()].filter(
      ({ state }) => state.kind !== 'running' && state.finishedAt < finishedBefore,
    )
    const purged = finished.slice(0, limit)
    for (const { id } of purged) this.#memory.recoveries.delete(id)
    return purged.length
  }

  #running(): Recovery[] {
    return [...this.#memory.recoveries.values()].filter(({ state }) => state.kind === 'running')
  }

  #save(recovery: Recovery): Recovery {
    this.#memory.recoveries.delete(recovery.id)
    this.#memory.recoveries.set(recovery.id, recovery)
    return recovery
  }
}
