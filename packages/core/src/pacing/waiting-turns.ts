import { ShortLivedMap } from '../domain/values/short-lived-map.js'
import type { Caller, Unavailable } from '../ports/stored.js'

export type WaitingLimits = {
  /** Default: as many places as there are. */
  readonly placesPerGroup?: number
  /** Work that waits, over all groups. */
  readonly maxWaiting: number
  /** The sum of `Turn.bytes` of the work that waits. Default: no limit. */
  readonly maxBytes?: number
}

/** `group`: the project or address that shares the places with others. */
export type Turn = {
  readonly group: string
  /** Work of a caller that has left is refused when its turn comes. */
  readonly caller?: Caller | undefined
  /** Counts against `maxBytes`. Called only if the work must wait. */
  readonly bytes?: () => number
}

export type WaitingTurn = {
  readonly turn: Turn
  readonly bytes: number
  /** In elapsed time. */
  readonly deadline: number
  readonly start: () => void
  readonly refuse: (error: Unavailable) => void
}

type Group = {
  running: number
  bytes: number
  /** Oldest first. The ones before `head` have left. */
  waiting: WaitingTurn[]
  head: number
}

/** What waits in a `TurnQueue`, by group, and how much of each group runs. */
export class WaitingTurns {
  readonly #limits: WaitingLimits
  /** Groups with running or waiting work. */
  readonly #groups = new ShortLivedMap<string, Group>()
  /** The groups with waiting work, the next one first. */
  #order: string[] = []
  #size = 0
  #bytes = 0

  constructor(limits: WaitingLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#size
  }

  /** The deadline of the oldest work. Infinity: no work waits. */
  get firstDeadline(): number {
    let first = Infinity
    for (const group of this.#groups.values())
      first = Math.min(first, group.waiting[group.head]?.deadline ?? Infinity)
    return first
  }

  hasPlace(id: string): boolean {
    const { placesPerGroup = Infinity } = this.#limits
    return (this.#groups.get(id)?.running ?? 0) < placesPerGroup
  }

  take(id: string): void {
    this.#of(id).running++
  }

  leave(id: string): void {
    const group = this.#of(id)
    group.running--
    this.#forget(id, group)
  }

  /** Adds the work. Returns what must be refused so that the rest fits. */
  add(waiting: WaitingTurn): WaitingTurn[] {
    const group = this.#of(waiting.turn.group)
    if (lengthOf(group) === 0) this.#order.push(waiting.turn.group)
    group.waiting.push(waiting)
    this.#count(group, waiting, 1)
    const { maxWaiting, maxBytes = Infinity } = this.#limits
    const refused: WaitingTurn[] = []
    while (this.#size > maxWaiting) refused.push(this.#dropNewest(lengthOf))
    while (this.#bytes > maxBytes) refused.push(this.#dropNewest(bytesOf))
    return refused
  }

  /** Takes the oldest work of the next group that has a place. */
  next(): WaitingTurn | undefined {
    const at = this.#order.findIndex((id) => this.hasPlace(id))
    const [id] = at < 0 ? [] : this.#order.splice(at, 1)
    const group = id === undefined ? undefined : this.#groups.get(id)
    const next = group?.waiting[group.head]
    if (id === undefined || !group || !next) return undefined
    this.#dropOldest(group, next)
    if (lengthOf(group) > 0) this.#order.push(id)
    else this.#forget(id, group)
    return next
  }

  /** Takes out all work whose deadline has come. */
  removeUntil(now: number): WaitingTurn[] {
    const removed: WaitingTurn[] = []
    for (const id of this.#order) {
      const group = this.#of(id)
      for (let first; (first = group.waiting[group.head]) && first.deadline <= now;) {
        this.#dropOldest(group, first)
        removed.push(first)
      }
    }
    this.#order = this.#order.filter((id) => lengthOf(this.#of(id)) > 0)
    for (const { turn } of removed) this.#forget(turn.group, this.#of(turn.group))
    return removed
  }

  /** Returns how much of the group waits, and how many groups share the places. */
  share(id: string): { ofGroup: number; groups: number } {
    const group = this.#groups.get(id)
    return { ofGroup: group ? lengthOf(group) + 1 : 1, groups: Math.max(1, this.#order.length) }
  }

  #of(id: string): Group {
    const known = this.#groups.get(id)
    if (known) return known
    const group = { running: 0, bytes: 0, waiting: [], head: 0 }
    this.#groups.set(id, group)
    return group
  }

  #forget(id: string, group: Group): void {
    if (group.running === 0 && lengthOf(group) === 0) this.#groups.delete(id)
  }

  #count(group: Group, { bytes }: WaitingTurn, by: 1 | -1): void {
    this.#size += by
    this.#bytes += by * bytes
    group.bytes += by * bytes
  }

  #dropOldest(group: Group, oldest: WaitingTurn): void {
    this.#count(group, oldest, -1)
    group.head++
    if (group.head * 2 < group.waiting.length) return
    group.waiting = group.waiting.slice(group.head)
    group.head = 0
  }

  /** Takes the newest work of the group that has most. */
  #dropNewest(amountOf: (group: Group) => number): WaitingTurn {
    let largest = ''
    for (const id of this.#order)
      if (largest === '' || amountOf(this.#of(id)) >= amountOf(this.#of(largest))) largest = id
    const group = this.#of(largest)
    const newest = group.waiting.pop() as WaitingTurn
    this.#count(group, newest, -1)
    if (lengthOf(group) === 0) {
      this.#order = this.#order.filter((id) => id !== largest)
      this.#forget(largest, group)
    }
    return newest
  }
}

const lengthOf = ({ waiting, head }: Group): number => waiting.length - head
const bytesOf = ({ bytes }: Group): number => bytes
