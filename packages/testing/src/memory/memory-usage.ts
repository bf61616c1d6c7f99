import {
  sumOfUsage,
  type Usage,
  type UsageOfDay,
  type UsageQuery,
  type UsageStore,
} from '@org/agent-messaging-core/storage'
import type { Immediate, Memory } from './memory.js'

export class MemoryUsage implements Immediate<UsageStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  read({ projectId, fromDay, toDay }: UsageQuery): UsageOfDay[] {
    return [...this.#memory.usage.values()]
      .filter((one) => one.projectId === projectId && one.day >= fromDay && one.day <= toDay)
      .sort((a, b) => a.day - b.day)
      .map(({ day, counts }) => ({ day, counts: sumOfUsage([counts]) }))
  }
}

/** Adds the counts of a change that takes effect. */
export function addUsage({ usage }: Memory, added: Usage | undefined): void {
  if (!added) return
  const key = `${added.projectId} ${added.day}`
  const counts = sumOfUsage([usage.get(key)?.counts ?? {}, added.counts])
  usage.set(key, { projectId: added.projectId, day: added.day, counts })
}
