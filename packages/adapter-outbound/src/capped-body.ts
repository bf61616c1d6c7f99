const EMPTY = Buffer.alloc(0)

/**
 * The first bytes of a body. They are copied into one growing buffer: a list of chunks would let a body that comes as
 * one-byte chunks take hundreds of times its size.
 */
export class CappedBody {
  private buffer: Buffer = EMPTY
  private size = 0
  private readonly cap: number

  constructor(cap: number) {
    this.cap = cap
  }

  /** False when the chunk does not fit; then as much of it as does is kept. */
  append(chunk: Buffer): boolean {
    const taken = Math.min(chunk.length, this.cap - this.size)
    const length = this.size + taken
    // The first chunk is mostly the whole body: it is kept as it is.
    if (this.size === 0) this.buffer = chunk.subarray(0, taken)
    else chunk.copy(this.withRoomFor(length), this.size, 0, taken)
    this.size = length
    return taken === chunk.length
  }

  get length(): number {
    return this.size
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.size)
  }

  private withRoomFor(length: number): Buffer {
    if (length > this.buffer.length) {
      const larger = Buffer.allocUnsafe(
        Math.min(this.cap, Math.max(length, 2 * this.buffer.length)),
      )
      this.buffer.copy(larger, 0, 0, this.size)
      this.buffer = larger
    }
    return this.buffer
  }
}
