/** A piece of an answer; `offset` counts UTF-16 units from the attempt's first. */
export type Piece = { readonly offset: number; readonly text: string }

/**
 * What a run has shown of its answer so far, for those who read along and those who come late: as much of its end as fits,
 * once for all readers. Whoever falls behind further than that finds a gap in the offsets; the final message has it all.
 */
export type LiveAnswer = {
  append(chunk: string): void
  /** What follows `offset`, or the first that is still kept; undefined when there is nothing yet. */
  pieceFrom(offset: number): Piece | undefined
}

/** Of one piece: what is on its way to a reader who does not read. */
const PIECE_LENGTH = 16 * 1024

/** Keeps the last `maxLength` units, and at times twice as many: so what is thrown away is seldom copied. */
export function createLiveAnswer(maxLength: number): LiveAnswer {
  let kept = ''
  let start = 0

  return {
    append(chunk) {
      kept += chunk
      if (kept.length <= 2 * maxLength) return
      const cut = kept.length - maxLength
      start += cut
      kept = kept.slice(cut)
    },
    pieceFrom(offset) {
      const from = Math.max(offset, start)
      const text = withoutHalf(kept.slice(from - start, from - start + PIECE_LENGTH))
      return text === '' ? undefined : { offset: from, text }
    },
  }
}

/** Not every reader can put the halves of a surrogate pair together again: the first one waits for the second. */
const withoutHalf = (text: string): string =>
  /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
