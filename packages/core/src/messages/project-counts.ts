import type { Access, ByAccess } from '../domain/access/access.js'

/** The most streams, and the most waiting sends and reads, of one caller with an `Access`. */
const MOST_OF_CALLER = 10

type Opener = ByAccess & { readonly projectId: string }

/** Counts per project, and per caller with an `Access`. A count of 0 takes no memory. */
export class ProjectCounts {
  readonly #counts = new Map<string, number>()
  readonly #mostOfCaller: number

  constructor(mostOfCaller = MOST_OF_CALLER) {
    this.#mostOfCaller = mostOfCaller
  }

  /** True if the project has `most`, or the caller has as many as one caller can. */
  isFull({ projectId, access }: Opener, most: number): boolean {
    return (
      this.#get(projectId) >= most ||
      (access !== undefined && this.#get(callerOf(projectId, access)) >= this.#mostOfCaller)
    )
  }

  add({ projectId, access }: Opener, by: 1 | -1): void {
    this.#add(projectId, by)
    if (access) this.#add(callerOf(projectId, access), by)
  }

  #get(id: string): number {
    return this.#counts.get(id) ?? 0
  }

  #add(id: string, by: 1 | -1): void {
    const count = this.#get(id) + by
    if (count === 0) this.#counts.delete(id)
    else this.#counts.set(id, count)
  }
}

const callerOf = (projectId: string, { caller }: Access): string => `${projectId} ${caller}`
