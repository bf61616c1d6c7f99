/** An entry of a set takes as long as some other steps. */
const STEPS_TO_COVER = 8

/** The steps of one check, with the results that the check needs more than once. */
export class SchemaWork {
  steps = 0
  readonly #maxSteps: number
  readonly #results = new Map<string, Map<unknown, unknown>>()

  constructor(maxSteps: number) {
    this.#maxSteps = maxSteps
  }

  step(steps = 1): void {
    this.steps += steps
    if (this.steps > this.#maxSteps) throw new TooManySteps()
  }

  cover(covered: Covered | undefined, key: string | number): void {
    if (!covered) return
    this.step(STEPS_TO_COVER)
    covered.add(key)
  }

  /** Computes a result once for each value, however many schemas ask for it. */
  once<V, T>(name: string, value: V, compute: (value: V) => T): T {
    let results = this.#results.get(name)
    if (!results) this.#results.set(name, (results = new Map()))
    if (results.has(value)) return results.get(value) as T
    const result = compute(value)
    results.set(value, result)
    return result
  }
}

export class TooManySteps extends Error {}

/**
 * `at` are the keys from the checked value to the wrong one. `says` makes the text. A check of many
 * alternatives fails often, and needs no text for most failures.
 */
export type SchemaFailure = { readonly at: readonly string[]; readonly says: () => string }

/** The keys and indexes that a schema covered, for `unevaluatedProperties` and `-Items`. */
export type Covered = Set<string | number>

/** Returns why the value does not match, or undefined. Adds to `covered` if an outer check asks. */
export type SchemaCheck<V> = (
  value: V,
  work: SchemaWork,
  covered: Covered | undefined,
) => SchemaFailure | undefined

export const failure = (says: () => string): SchemaFailure => ({ at: [], says })
