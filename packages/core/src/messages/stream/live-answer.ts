/** A piece of an answer. `offset` counts UTF-16 units from the start of the attempt. */
export type Piece = { readonly offset: number; readonly text: string }

/** The longest piece, which bounds the memory of a reader that does not read. */
const PIECE_LENGTH = 16 * 1024

/**
 * The last part of the answer that a run has emitted, once for all readers. A reader that falls
 * too far behind finds a gap in the offsets. The final message has the whole answer.
 */
export class LiveAnswer {
  readonly #maxLength: number
  #kept = ''
  /** The offset of `#kept`. */
  #start = 0

  /** Keeps at least the last `maxLength` units, and cuts at twice as many, so cuts are rare. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** The offset of the first kept unit. */
  get start(): number {
    return this.#start
  }

  get end(): number {
    return this.#start + this.#kept.length
  }

  /** The number of kept units. */
  get length(): number {
    return this.#kept.length
  }

  /** Drops what is kept and goes on at a later offset. */
  skipTo(offset: number): void {
    this.#kept = ''
    this.#start = offset
  }

  append(chunk: string): void {
    this.#kept += chunk
    if (this.#kept.length <= 2 * this.#maxLength) return
    const cut = this.#kept.length - this.#maxLength
    this.#start += cut
    this.#kept = this.#kept.slice(cut)
  }

  /**
   * Returns the piece at `offset`, or the first kept piece behind it. Undefined if there is none
   * yet.
   */
  pieceFrom(offset: number, maxLength = PIECE_LENGTH): Piece | undefined {
    const from = Math.max(offset, this.#start)
    const at = from - this.#start
    const text = withoutHalf(this.#kept.slice(at, at + maxLength))
    return text === '' ? undefined : { offset: from, text }
  }
}

/** Keeps the first half of a surrogate pair back until the second one is there. */
const withoutHalf = (text: string): string =>
  /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
