/** Receives a function that frees the slot. A second call of the function does nothing. */
type Use = (free: () => void) => void

/**
 * Limits how many batches of all kinds run at once. The others wait in order. A batch that takes
 * longer than `slowMs` waits for a lock or a disk and not for a processor, so it frees its slot.
 */
export class BatchSlots {
  readonly #slowMs: number
  readonly #waiting: Use[] = []
  #free: number

  constructor(slots: number, slowMs: number) {
    this.#free = slots
    this.#slowMs = slowMs
  }

  /** Calls `use` at once, or when a slot is free. */
  acquire(use: Use): void {
    if (this.#free === 0) {
      this.#waiting.push(use)
      return
    }
    this.#free--
    this.#occupy(use)
  }

  #occupy(use: Use): void {
    let isHeld = true
    const free = (): void => {
      if (!isHeld) return
      isHeld = false
      clearTimeout(slow)
      const next = this.#waiting.shift()
      if (next) this.#occupy(next)
      else this.#free++
    }
    const slow = setTimeout(free, this.#slowMs)
    use(free)
  }
}
