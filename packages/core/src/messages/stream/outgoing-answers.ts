import type { RunningMessage } from '../../domain/messages/message.js'
import { ShortLivedMap } from '../../domain/values/short-lived-map.js'
import { MAX_RELAYED_LENGTH, type ChunkQuestion, type ChunkRelay } from '../../ports/chunk-relay.js'
import type { Clock } from '../../ports/platform.js'
import type { LiveAnswer } from './live-answer.js'

/** A reader at another process counts for this long after its last request. */
const ASKED_MS = 10_000
/** The answer of an ended run is kept for one to two such times, to send lost pieces again. */
const KEPT_MS = 2_000
const MAX_KEPT = 1_000
const MAX_ASKED = 10_000
/** The notes of a run that are sent at once. With one at a time, long parts come too late. */
const MAX_ON_WAY = 8

type Outgoing = {
  readonly message: RunningMessage
  readonly answer: LiveAnswer
  /** The offset behind the last sent piece. */
  sent: number
  /** Infinity while the run continues. */
  endedAt: number
  hasSentLast: boolean
  isSending: boolean
}
type Options = {
  readonly relay: ChunkRelay
  readonly clock: Clock
  readonly stopping: AbortSignal
  /** Called when the answer of an ended run is not sent again. */
  readonly onForgotten: (messageId: string) => void
}

/**
 * Sends the answers of this process's runs to readers at other processes, if a reader requests
 * them. A run has few notes on their way, so chunks that arrive during a send share the next note.
 */
export class OutgoingAnswers {
  readonly #options: Options
  readonly #runs = new ShortLivedMap<string, Outgoing>()
  /** The times when requests expire, by message id. A request can come before its run. */
  readonly #asked = new Map<string, number>()
  /** Ended runs, the oldest first. */
  readonly #kept = new Set<Outgoing>()
  #isForgetting = false

  constructor(options: Options) {
    this.#options = options
  }

  begin(message: RunningMessage, answer: LiveAnswer): void {
    const run: Outgoing = {
      message,
      answer,
      sent: 0,
      endedAt: Infinity,
      hasSentLast: false,
      isSending: false,
    }
    this.#runs.set(message.id, run)
    if (this.#isAsked(message.id)) this.#announce(run)
  }

  /** True while the answer of the message can be sent. */
  has(messageId: string): boolean {
    return this.#runs.get(messageId) !== undefined
  }

  /** Sends new pieces of a message's run. */
  serve(messageId: string): void {
    const run = this.#runs.get(messageId)
    if (run && !run.isSending && this.#isAsked(messageId)) void this.#send(run)
  }

  end(messageId: string): void {
    const run = this.#runs.get(messageId)
    if (!run || run.endedAt < Infinity) return
    run.endedAt = this.#options.clock.elapsed()
    this.serve(messageId)
    if (run.answer.length === 0 && !this.#isAsked(messageId)) return this.#forget(run)
    this.#kept.add(run)
    const [oldest] = this.#kept
    if (oldest && this.#kept.size > MAX_KEPT) this.#forget(oldest)
    void this.#forgetOld()
  }

  hear({ messageId, have, isBehind }: ChunkQuestion): void {
    this.#remember(messageId)
    const run = this.#runs.get(messageId)
    if (!run) return
    const { startedAt } = run.message.state
    const isSame = have.startedAt === startedAt && have.attempt === run.message.attempt
    if (isBehind || !isSame) {
      run.sent = Math.min(run.sent, isSame ? have.offset : 0)
      run.hasSentLast = false
      this.#announce(run)
    }
    this.serve(messageId)
  }

  #isAsked(messageId: string): boolean {
    return (this.#asked.get(messageId) ?? 0) > this.#options.clock.elapsed()
  }

  #remember(messageId: string): void {
    const now = this.#options.clock.elapsed()
    this.#asked.delete(messageId)
    this.#asked.set(messageId, now + ASKED_MS)
    for (const [id, until] of this.#asked) {
      if (until > now && this.#asked.size <= MAX_ASKED) return
      this.#asked.delete(id)
    }
  }

  /** Tells readers that pieces follow, so that the readers wait for the last piece. */
  #announce(run: Outgoing): void {
    void this.#options.relay.send(noteOf(run, { offset: run.sent, text: '' }, false))
  }

  async #send(run: Outgoing): Promise<void> {
    run.isSending = true
    while (this.#isAsked(run.message.id)) {
      if ((this.#runs.get(run.message.id) ?? run) !== run) break
      const sends: Promise<void>[] = []
      for (let note = nextNote(run); note; note = nextNote(run)) {
        sends.push(this.#options.relay.send(note))
        if (sends.length === MAX_ON_WAY) break
      }
      if (sends.length === 0) break
      await Promise.all(sends)
    }
    run.isSending = false
  }

  /** Runs once for all ended runs. A stopping process keeps the rest until it ends. */
  async #forgetOld(): Promise<void> {
    const { clock, stopping } = this.#options
    if (this.#isForgetting) return
    this.#isForgetting = true
    while (this.#kept.size > 0 && !stopping.aborted) {
      await clock.sleep(KEPT_MS, stopping)
      const old = clock.elapsed() - KEPT_MS
      for (const run of this.#kept) if (run.endedAt <= old) this.#forget(run)
    }
    this.#isForgetting = false
  }

  #forget(run: Outgoing): void {
    this.#kept.delete(run)
    if (this.#runs.get(run.message.id) !== run) return
    this.#runs.delete(run.message.id)
    this.#options.onForgotten(run.message.id)
  }
}

/** Returns the next piece, or the note behind the last one of an ended run, once. */
function nextNote(run: Outgoing) {
  const piece = run.answer.pieceFrom(run.sent, MAX_RELAYED_LENGTH)
  if (piece) run.sent = piece.offset + piece.text.length
  else if (run.endedAt === Infinity || run.hasSentLast) return undefined
  else run.hasSentLast = true
  return noteOf(run, piece ?? { offset: run.sent, text: '' }, !piece)
}

const noteOf = (run: Outgoing, piece: { offset: number; text: string }, isLast: boolean) => ({
  kind: 'chunk' as const,
  messageId: run.message.id,
  startedAt: run.message.state.startedAt,
  attempt: run.message.attempt,
  start: run.answer.start,
  offset: piece.offset,
  text: piece.text,
  isLast,
})
