/**
 * A process requests the pieces of a message's answer. `have` names the run whose pieces the
 * process has, and the offset behind these pieces. Without `isBehind`, the request only says that a
 * reader still waits.
 */
export type ChunkQuestion = {
  readonly kind: 'question'
  readonly messageId: string
  readonly have: RelayedRun & { readonly offset: number }
  readonly isBehind: boolean
}

/** Names a run for all processes. A retried message counts its attempts from 1 again. */
export type RelayedRun = { readonly startedAt: number; readonly attempt: number }

/**
 * A place in the log of a run, which has the text of its answer and the part events between the
 * text. `offset` counts the UTF-16 units of the log before the place, `text` those of text, and
 * `parts` counts the part events.
 */
export type LogPlace = { readonly offset: number; readonly text: number; readonly parts: number }

/**
 * A piece of the log of a run, which can end within a part. Pieces before `start` are no longer
 * kept. A run begins and ends with an empty piece. The piece at its end has `isLast`.
 */
export type RelayedChunk = RelayedRun & {
  readonly kind: 'chunk'
  readonly messageId: string
  readonly start: LogPlace
  readonly offset: number
  readonly text: string
  readonly isLast: boolean
}

export type RelayNote = ChunkQuestion | RelayedChunk

/** The longest text of a note, in UTF-16 units. */
export const MAX_RELAYED_LENGTH = 1_200

/**
 * Sends pieces of answers between the processes on one storage, without a stored row. Notes of one
 * process arrive in their order. A note can reach its sender, and can get lost: readers repeat
 * their requests.
 */
export interface ChunkRelay {
  /** Resolves when the note was sent or is lost. Never rejects. */
  send(note: RelayNote): Promise<void>
  /** Calls `hear` with each note from now on. Returns a function that ends these calls. */
  onNote(hear: (note: RelayNote) => void): () => void
}
