import type { AuditEntry } from '@org/agent-messaging-core'
import {
  INSTALLATION,
  listedType,
  oncePerName,
  type EventType,
  type EventTypeStore,
  type ListedEventType,
} from '@org/agent-messaging-core/storage'
import type { Immediate, Memory } from './memory.js'
import { recorded } from './memory-audit.js'

export class MemoryEventTypes implements Immediate<EventTypeStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  put(
    projectId: string | undefined,
    type: EventType,
    limit: number,
    audit?: AuditEntry,
  ): EventType | 'name_taken' | 'limit_reached' | 'project_not_found' {
    const { projects } = this.#memory
    if (projectId !== undefined) {
      if (!projects.has(projectId)) return 'project_not_found'
      if (this.#of(INSTALLATION).has(type.name)) return 'name_taken'
    }
    const types = this.#of(projectId)
    const before = types.get(type.name)
    if (!before && types.size >= limit) return 'limit_reached'
    const after = before?.createdAt === undefined ? type : { ...type, createdAt: before.createdAt }
    types.set(type.name, after)
    return recorded(this.#memory, audit, after, after, before)
  }

  delete(projectId: string | undefined, name: string, audit?: AuditEntry): boolean {
    const types = this.#of(projectId)
    const type = types.get(name)
    return recorded(this.#memory, audit, types.delete(name), type)
  }

  list(projectId: string | undefined): ListedEventType[] {
    return this.#all(projectId).map(listedType)
  }

  find(projectId: string | undefined, names: readonly string[]): EventType[] {
    return this.#all(projectId).filter(({ name }) => names.includes(name))
  }

  #of(projectId: string = INSTALLATION): Map<string, EventType> {
    const { eventTypes } = this.#memory
    const types = eventTypes.get(projectId) ?? new Map<string, EventType>()
    eventTypes.set(projectId, types)
    return types
  }

  #all(projectId: string | undefined): EventType[] {
    const own = projectId === undefined ? [] : [...this.#of(projectId).values()]
    return oncePerName([...this.#of(INSTALLATION).values()], own)
  }
}
