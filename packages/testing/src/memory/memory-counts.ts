import {
  COUNT_STEPS,
  rowsOfCounts,
  type Count,
  type CountRow,
  type CountsQuery,
  type CountsStore,
  type PurgeCounts,
} from '@org/agent-messaging-core/storage'
import type { Immediate, Memory } from './memory.js'

const STEPS = COUNT_STEPS.map(({ ms }) => ms)

export class MemoryCounts implements Immediate<CountsStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  read({ projectId, subject, id, stepMs, from, to }: CountsQuery): CountRow[] {
    return this.#rows()
      .filter((row) => row.projectId === projectId && row.subject === subject)
      .filter((row) => row.stepMs === stepMs && row.at >= from && row.at <= to)
      .filter((row) => id === undefined || row.id === id)
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
  }

  fold(limit: number): number {
    const { countEntries, countRows } = this.#memory
    const entries = countEntries.splice(0, limit)
    const rows = rowsOfCounts([...countRows, ...entries.flat()], STEPS)
    countRows.splice(0, countRows.length, ...rows)
    return entries.length
  }

  purge({ stepMs, before, limit }: PurgeCounts): number {
    const { countRows } = this.#memory
    const old = countRows.filter((row) => row.stepMs === stepMs && row.at < before).slice(0, limit)
    countRows.splice(0, countRows.length, ...countRows.filter((row) => !old.includes(row)))
    return old.length
  }

  #rows(): CountRow[] {
    const { countEntries, countRows } = this.#memory
    return rowsOfCounts([...countRows, ...countEntries.flat()], STEPS)
  }
}

/** Appends the count of a change that takes effect. */
export function appendCount({ countEntries }: Memory, count: Count | undefined): void {
  if (count) countEntries.push([count])
}
