/** Who is next: of the items with the least load the one that has had it longest. Each call takes as long as the least load is high. */
export type LoadQueue<T> = {
  /** Takes the item in, or notes its load, which is a small whole number. */
  put(item: T, load: number): void
  remove(item: T): void
  first(): T | undefined
}

export function createLoadQueue<T>(): LoadQueue<T> {
  const byLoad: Set<T>[] = []
  const loads = new Map<T, number>()

  function remove(item: T): void {
    const load = loads.get(item)
    if (load === undefined) return
    byLoad[load]?.delete(item)
    loads.delete(item)
  }

  return {
    put(item, load) {
      if (loads.get(item) === load) return
      remove(item)
      while (byLoad.length <= load) byLoad.push(new Set())
      byLoad[load]?.add(item)
      loads.set(item, load)
    },
    remove,
    first() {
      for (const items of byLoad) for (const item of items) return item
      return undefined
    },
  }
}
