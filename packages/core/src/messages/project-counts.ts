/** Counts per project. A project with a count of 0 takes no memory. */
export class ProjectCounts {
  readonly #counts = new Map<string, number>()

  get(projectId: string): number {
    return this.#counts.get(projectId) ?? 0
  }

  add(projectId: string, by: 1 | -1): void {
    const count = this.get(projectId) + by
    if (count === 0) this.#counts.delete(projectId)
    else this.#counts.set(projectId, count)
  }
}
