import {
  COUNT_STEPS,
  DAY_MS,
  keyOfCounts,
  rowsOfCounts,
  rowsOfPeople,
  startOf,
  withPeople,
  type Count,
  type CountRow,
  type CountsQuery,
  type CountsStore,
  type PeopleMove,
  type PeoplePage,
  type PeoplePlace,
  type PeopleQuery,
  type PurgeCounts,
} from '@org/agent-messaging-core/storage'
import type { Immediate, Memory } from './memory.js'

const STEPS = COUNT_STEPS.map(({ ms }) => ms)

export class MemoryCounts implements Immediate<CountsStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  read({ projectId, subject, id, stepMs, from, to, limit }: CountsQuery): CountRow[] {
    return this.#rows()
      .filter((row) => row.projectId === projectId && row.subject === subject)
      .filter((row) => row.stepMs === stepMs && row.at >= from && row.at <= to)
      .filter((row) => id === undefined || row.id === id)
      .slice(0, limit)
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
  }

  fold(limit: number): { folded: number; hasMore: boolean } {
    const { countEntries, countRows } = this.#memory
    const entries = countEntries.splice(0, limit)
    const rows = rowsOfCounts([...countRows, ...entries.flat()], STEPS)
    countRows.splice(0, countRows.length, ...rows)
    return { folded: entries.length, hasMore: entries.length === limit }
  }

  purge({ stepMs, before, limit }: PurgeCounts): number {
    const { countRows } = this.#memory
    const old = countRows.filter((row) => row.stepMs === stepMs && row.at < before).slice(0, limit)
    countRows.splice(0, countRows.length, ...countRows.filter((row) => !old.includes(row)))
    return old.length
  }

  people({ projectId, agentId, day, after = '', limit }: PeopleQuery): PeoplePage {
    const found = [...this.#memory.messages.values()]
      .filter(({ message }) => message.projectId === projectId)
      .filter(({ message }) => agentId === undefined || message.agentId === agentId)
      .filter(({ message }) => startOf(message.createdAt, DAY_MS) === day)
      .flatMap(({ message: { agentId: agent, executionPrincipal: principal } }) =>
        principal.type === 'end_user' ? [{ agent, id: principal.endUserId }] : [],
      )
    const ids = [...new Set(found.map(({ id }) => id))].filter((id) => id > after).sort()
    const page = ids.slice(0, limit)
    const next = ids.length >= limit ? page.at(-1) : undefined
    const agents = [...this.#memory.agents.values()].filter((one) => one.projectId === projectId)
    const ofAgents = agents
      .filter(({ id }) => agentId === undefined || id === agentId)
      .map(({ id }): [string, number] => {
        const own = new Set(found.filter(({ agent }) => agent === id).map((one) => one.id))
        return [id, page.filter((person) => own.has(person)).length]
      })
    return {
      people: page.length,
      ofAgents: Object.fromEntries(ofAgents),
      ...(next !== undefined && { next }),
    }
  }

  peoplePlace(): PeoplePlace {
    return this.#memory.peoplePlace
  }

  movePeople({ from, to, people }: PeopleMove): boolean {
    const { peoplePlace: place, countRows } = this.#memory
    if (place.until !== from.until || place.after !== from.after) return false
    this.#memory.peoplePlace = to
    if (people === undefined) return true
    const days = rowsOfPeople(to.after, from.until, people)
    for (const row of withPeople(days, countRows)) {
      const at = countRows.findIndex((one) => keyOfCounts(one) === keyOfCounts(row))
      countRows.splice(at < 0 ? countRows.length : at, 1, row)
    }
    return true
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
