import type { PartEvent } from '../../domain/messages/part.js'
import type { LogPlace } from '../../ports/chunk-relay.js'

/** A cut of the log. `offset` counts UTF-16 units of the log from the start of the attempt. */
export type Piece = { readonly offset: number; readonly text: string }

/** Text or a part event, with the places before and behind it. */
export type LogEntry = { readonly from: LogPlace; readonly to: LogPlace } & (
  | { readonly text: string }
  | { readonly part: PartEvent }
)

/** The longest piece, which bounds the memory of a reader that does not read. */
const PIECE_LENGTH = 16 * 1024
/** `#newest` becomes part of `#joined` beyond this many units. */
const NEWEST_LENGTH = 16 * 1024
/** Comes before and behind the JSON of a part. Neither text nor JSON has it. */
const NUL = '\0'

export const LOG_START: LogPlace = { offset: 0, text: 0, parts: 0 }

/** Returns what a run emitted as text of its log. */
export const logged = (emitted: string | PartEvent): string =>
  typeof emitted === 'string' ? emitted : NUL + JSON.stringify(emitted) + NUL

/**
 * The last part of the log of a run, once for all readers. The log has the text that the run
 * emitted, and between it the part events. A reader that falls too far behind finds a gap in the
 * offsets. The final message has the whole answer.
 */
export class LiveAnswer {
  readonly #maxLength: number
  readonly #onLength: (change: number) => void
  /** The kept units before `#newest`. */
  #joined = ''
  /** The newest units, apart: the first read after an append copies a text that has grown. */
  #newest = ''
  /** The place of the first kept unit, never within a part. */
  #start = LOG_START

  /**
   * Keeps at least the last `maxLength` units, and cuts at twice as many, so cuts are rare.
   * `onLength` is called with each change of the number of kept units.
   */
  constructor(maxLength: number, onLength: (change: number) => void = () => undefined) {
    this.#maxLength = maxLength
    this.#onLength = onLength
  }

  /** The place of the first kept unit. */
  get start(): LogPlace {
    return this.#start
  }

  get end(): number {
    return this.#start.offset + this.length
  }

  /** The number of kept units. */
  get length(): number {
    return this.#joined.length + this.#newest.length
  }

  /** Returns all kept units. */
  #join(): string {
    this.#joined += this.#newest
    this.#newest = ''
    return this.#joined
  }

  /** Drops what is kept and goes on at a later place. */
  skipTo(place: LogPlace): void {
    this.#onLength(-this.length)
    this.#joined = ''
    this.#newest = ''
    this.#start = place
  }

  append(log: string): void {
    if (this.#newest.length > NEWEST_LENGTH) this.#join()
    this.#newest += log
    this.#onLength(log.length)
    if (this.length > 2 * this.#maxLength) this.shorten(this.#maxLength)
  }

  /** Keeps about the last `length` units. The first part that is kept is whole. */
  shorten(length: number): void {
    const place = this.placeAt(this.end - length)
    const cut = place.offset - this.#start.offset
    this.#onLength(-cut)
    this.#joined = this.#join().slice(cut)
    this.#start = place
  }

  /**
   * Returns the place at a kept offset, or the place behind the part that has this offset. A part
   * that has not arrived as a whole is not passed.
   */
  placeAt(offset: number): LogPlace {
    const { offset: start } = this.#start
    const kept = this.#join()
    let place = this.#start
    while (place.offset < offset) {
      const open = kept.indexOf(NUL, place.offset - start)
      if (open === -1 || start + open >= offset) return after(place, offset - place.offset)
      const before = after(place, start + open - place.offset)
      const close = kept.indexOf(NUL, open + 1)
      if (close === -1) return before
      place = behindPart(before, close + 1 - open)
    }
    return place
  }

  /** Returns the entry at the place, or the first kept one behind it. Undefined if there is none. */
  entryFrom(place: LogPlace): LogEntry | undefined {
    const from = place.offset < this.#start.offset ? this.#start : place
    const log = this.#from(from.offset)
    if (log.startsWith(NUL)) return partOf(log, from)
    const kept = log.slice(0, PIECE_LENGTH)
    const open = kept.indexOf(NUL)
    const text = open === -1 ? withoutHalf(kept) : kept.slice(0, open)
    // Half of a surrogate pair beside a part or a gap has no other half.
    const whole = text.toWellFormed()
    return text === '' ? undefined : { from, to: after(from, text.length), text: whole }
  }

  /** Returns the log from a kept offset on. */
  #from(offset: number): string {
    const at = offset - this.#start.offset
    const inNewest = at - this.#joined.length
    return inNewest < 0 ? this.#joined.slice(at) + this.#newest : this.#newest.slice(inNewest)
  }

  /**
   * Returns the cut of the log at `offset`, or the first kept one behind it. Undefined if there is
   * none yet.
   */
  pieceFrom(offset: number, maxLength: number): Piece | undefined {
    const from = Math.max(offset, this.#start.offset)
    const text = withoutHalf(this.#from(from).slice(0, maxLength))
    return text === '' ? undefined : { offset: from, text }
  }
}

/** Returns the part at the beginning of the log, or undefined if its end has not arrived. */
function partOf(log: string, from: LogPlace): LogEntry | undefined {
  const close = log.indexOf(NUL, 1)
  if (close === -1) return undefined
  const part = JSON.parse(log.slice(1, close)) as PartEvent
  return { from, to: behindPart(from, close + 1), part }
}

const after = ({ offset, text, parts }: LogPlace, length: number): LogPlace => ({
  offset: offset + length,
  text: text + length,
  parts,
})
const behindPart = ({ offset, text, parts }: LogPlace, length: number): LogPlace => ({
  offset: offset + length,
  text,
  parts: parts + 1,
})

/** Keeps the first half of a surrogate pair back until the second one is there. */
const withoutHalf = (text: string): string =>
  /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
