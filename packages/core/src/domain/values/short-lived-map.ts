/**
 * A Map for values that come and go by the thousand, such as the requests in flight.
 *
 * A Map copies its entries to a new table every few dozen changes. A table that has become old is
 * freed only by V8's next full collection, and keeps its values alive until then. So most values
 * of a long-lived Map are copied into the old generation, with all that they refer to. Here the
 * table contains only keys and numbers. The values are in an array, which reuses freed places.
 */
export class ShortLivedMap<K extends string | number, V> {
  readonly #places = new Map<K, number>()
  readonly #values: (V | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#places.size
  }

  get(key: K): V | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.#values[place]
  }

  set(key: K, value: V): void {
    const place = this.#places.get(key) ?? this.#free.pop() ?? this.#values.length
    this.#places.set(key, place)
    this.#values[place] = value
  }

  /** Returns false if the key is not there. */
  delete(key: K): boolean {
    const place = this.#places.get(key)
    if (place === undefined) return false
    this.#places.delete(key)
    this.#values[place] = undefined
    this.#free.push(place)
    return true
  }

  keys(): Iterable<K> {
    return this.#places.keys()
  }

  /** Visits the values in the order in which their keys were added. */
  *values(): Iterable<V> {
    for (const place of this.#places.values()) yield this.#values[place] as V
  }
}
