const EMPTY = Buffer.alloc(0)

/**
 * The first bytes of a body, copied into one growing buffer. A list of chunks could take hundreds
 * of times the size of a body that arrives in one-byte chunks.
 */
export class CappedBody {
  readonly #limit: number
  #buffer: Buffer = EMPTY
  #length = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get length(): number {
    return this.#length
  }

  /** Keeps as much of the chunk as fits. Returns false if the chunk did not fit. */
  append(chunk: Buffer): boolean {
    const taken = Math.min(chunk.length, this.#limit - this.#length)
    const length = this.#length + taken
    // The first chunk is usually the whole body, so it is not copied.
    if (this.#length === 0) this.#buffer = chunk.subarray(0, taken)
    else chunk.copy(this.#withRoomFor(length), this.#length, 0, taken)
    this.#length = length
    return taken === chunk.length
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  #withRoomFor(length: number) {
    if (length > this.#buffer.length) {
      const size = Math.min(this.#limit, Math.max(length, 2 * this.#buffer.length))
      const larger = Buffer.allocUnsafe(size)
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    return this.#buffer
  }
}
