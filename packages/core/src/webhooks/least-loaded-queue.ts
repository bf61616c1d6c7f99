/**
 * Items ordered by load. `first` returns the item with the least load; of equal items, the one
 * that has had its load longest. Loads are small whole numbers: `first` visits one set per load
 * level.
 */
export class LeastLoadedQueue<T> {
  readonly #byLoad: Set<T>[] = []
  readonly #loads = new Map<T, number>()

  /** Adds the item, or updates its load. */
  put(item: T, load: number): void {
    if (this.#loads.get(item) === load) return
    this.remove(item)
    while (this.#byLoad.length <= load) this.#byLoad.push(new Set())
    this.#byLoad[load]?.add(item)
    this.#loads.set(item, load)
  }

  remove(item: T): void {
    const load = this.#loads.get(item)
    if (load === undefined) return
    this.#byLoad[load]?.delete(item)
    this.#loads.delete(item)
  }

  first(): T | undefined {
    for (const items of this.#byLoad) for (const item of items) return item
    return undefined
  }
}
