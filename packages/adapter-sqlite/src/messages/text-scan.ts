/** The most that a step looks at: bytes of texts × bytes of the wanted text. */
export const MOST_STEP_WORK = 2_000_000
/** The work of reading a row, so that a step reads at most 500. */
const ROW_WORK = 4_000

/**
 * Looks for a text in the rows of a search, and yields at the end of each step. Compares bytes of
 * UTF-8: a match begins with the first byte of a character, so a piece can begin within one.
 */
export class TextScan {
  readonly #wanted: RegExp
  readonly #length: number
  /** Of this step. */
  #work = 0

  constructor(wanted: string) {
    const bytes = Buffer.from(wanted)
    this.#wanted = new RegExp([...bytes].map(either).join(''))
    this.#length = Math.max(1, bytes.length)
  }

  /** True if one of the row's texts has the wanted one. ASCII letters match in either case. */
  *isIn(texts: readonly Buffer[]): Generator<void, boolean> {
    yield* this.#spend(ROW_WORK)
    for (const text of texts) if (yield* this.#isIn(text)) return true
    return false
  }

  /** Looks at a long text in pieces, which overlap by the length of the wanted one. */
  *#isIn(text: Buffer): Generator<void, boolean> {
    const most = Math.max(2 * this.#length, Math.floor(MOST_STEP_WORK / this.#length))
    for (let from = 0; ; from += most - this.#length) {
      const to = Math.min(text.length, from + most)
      yield* this.#spend((to - from) * this.#length)
      if (this.#wanted.test(text.toString('latin1', from, to))) return true
      if (to === text.length) return false
    }
  }

  *#spend(work: number): Generator<void, void> {
    if (this.#work + work > MOST_STEP_WORK) {
      this.#work = 0
      yield
    }
    this.#work += work
  }
}

/** Matches the byte, or a letter of ASCII in either case. */
function either(byte: number): string {
  const character = String.fromCharCode(byte)
  return /[a-z]/i.test(character)
    ? `[${character.toLowerCase()}${character.toUpperCase()}]`
    : String.raw`\x${byte.toString(16).padStart(2, '0')}`
}
