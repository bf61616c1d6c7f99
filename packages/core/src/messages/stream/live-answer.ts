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
  #kept = ''
  /** The place of `#kept`, never within a part. */
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
    return this.#start.offset + this.#kept.length
  }

  /** The number of kept units. */
  get length(): number {
    return this.#kept.length
  }

  /** Drops what is kept and goes on at a later place. */
  skipTo(place: LogPlace): void {
    this.#onLength(-this.#kept.length)
    this.#kept = ''
    this.#start = place
  }

  append(log: string): void {
    this.#kept += log
    this.#onLength(log.length)
    if (this.#kept.length > 2 * this.#maxLength) this.shorten(this.#maxLength)
  }

  /** Keeps about the last `length` units. The first part that is kept is whole. */
  shorten(length: number): void {
    const place = this.placeAt(this.end - length)
    const cut = place.offset - this.#start.offset
    this.#onLength(-cut)
    this.#kept = this.#kept.slice(cut)
    this.#start = place
  }

  /**
   * Returns the place at a kept offset, or the place behind the part that has this offset. A part
   * that has not arrived as a whole is not passed.
   */
  placeAt(offset: number): LogPlace {
    const { offset: start } = this.#start
    let place = this.#start
    while (place.offset < offset) {
      const open = this.#kept.indexOf(NUL, place.offset - start)
      if (open === -1 || start + open >= offset) return after(place, offset - place.offset)
      const before = after(place, start + open - place.offset)
      const close = this.#kept.indexOf(NUL, open + 1)
      if (close === -1) return before
      place = behindPart(before, close + 1 - open)
    }
    return place
  }

  /** Returns the entry at the place, or the first kept one behind it. Undefined if there is none. */
  entryFrom(place: LogPlace): LogEntry | undefined {
    const from = place.offset < this.#start.offset ? this.#start : place
    const at = from.offset - this.#start.offset
    if (this.#kept[at] === NUL) return this.#partAt(at, from)
    const kept = this.#kept.slice(at, at + PIECE_LENGTH)
    const open = kept.indexOf(NUL)
    const text = open === -1 ? withoutHalf(kept) : kept.slice(0, open)
    // Half of a surrogate pair beside a part or a gap has no other half.
    const whole = text.toWellFormed()
    return text === '' ? undefined : { from, to: after(from, text.length), text: whole }
  }

  #partAt(at: number, from: LogPlace): LogEntry | undefined {
    const close = this.#kept.indexOf(NUL, at + 1)
    if (close === -1) return undefined
    const part = JSON.parse(this.#kept.slice(at + 1, close)) as PartEvent
    return { from, to: behindPart(from, close + 1 - at), part }
  }

  /**
   * Returns the cut of the log at `offset`, or the first kept one behind it. Undefined if there is
   * none yet.
   */
  pieceFrom(offset: number, maxLength: number): Piece | undefined {
    const from = Math.max(offset, this.#start.offset)
    const at = from - this.#start.offset
    const text = withoutHalf(this.#kept.slice(at, at + maxLength))
    return text === '' ? undefined : { offset: from, text }
  }
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
