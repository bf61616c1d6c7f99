import { isFinal, type Message, type MessageStateKind } from '../../domain/messages/message.js'
import { positionText, type StreamPosition } from '../../domain/messages/stream-position.js'
import type { PartEvent } from '../../domain/messages/part.js'
import type { IncomingAnswer } from './incoming-answer.js'
import { LOG_START, type LiveAnswer } from './live-answer.js'

/** An event of a message's stream. A later stream can continue behind its `id`. */
export type StreamEvent =
  /**
   * The message's state, the first event of an open message. Pieces of earlier attempts are void.
   */
  | { readonly kind: 'state'; readonly id: string; readonly message: Message }
  /**
   * A piece of the answer. `offset` counts the UTF-16 units of the attempt's text before it. It is
   * the end of the last piece, unless pieces were lost.
   */
  | {
      readonly kind: 'chunk'
      readonly id: string
      readonly attempt: number
      readonly offset: number
      readonly text: string
    }
  /**
   * A part event. `offset` counts the text before it as in a chunk, and `index` counts the part
   * events of the attempt before it. The final message has the parts that were lost.
   */
  | {
      readonly kind: 'part'
      readonly id: string
      readonly attempt: number
      readonly offset: number
      readonly index: number
      readonly part: PartEvent
    }
  /** The final message, the last event. */
  | { readonly kind: 'message'; readonly id: string; readonly message: Message }
  | { readonly kind: 'heartbeat' }

/** A reader's position in the stream of one message. */
export class StreamCursor {
  #seen: Message
  /** The message of the last `state` event. */
  #told: Message | undefined
  #live: { readonly attempt: number; readonly answer: LiveAnswer } | undefined
  /** The place behind the last event. */
  #place = LOG_START
  /** True if only the offset of the place is known, from an earlier stream. */
  #isOffset = false
  #incoming: IncomingAnswer | undefined

  /** `after`: the last event that the reader has seen. */
  constructor(message: Message, after?: StreamPosition) {
    this.#seen = message
    if (after?.attempt !== message.attempt || typeof after.offset !== 'number') return
    this.#place = { ...LOG_START, offset: after.offset }
    this.#isOffset = true
  }

  /**
   * Takes the message's newer state. Ignores an older one: reads and signals overtake each other.
   */
  see(message: Message): void {
    if (isOlder(message, this.#seen)) return
    if (message.attempt !== this.#seen.attempt) {
      this.#place = LOG_START
      this.#isOffset = false
    }
    this.#seen = message
  }

  /** Reads along with a run of this process. */
  follow(message: Message, answer: LiveAnswer): void {
    this.see(message)
    this.#live = { attempt: message.attempt, answer }
    this.#incoming = undefined
  }

  /**
   * Reads along with a run of another process. The final message waits for its last piece, until
   * `stopWaiting`.
   */
  followIncoming(incoming: IncomingAnswer): void {
    if (!isFinal(this.#seen.state)) this.#incoming = incoming
  }

  /** True if the final message waits for pieces from another process. */
  get isWaiting(): boolean {
    const { attempt, state } = this.#seen
    if (!this.#incoming || state.kind !== 'responded' || attempt === 0) return false
    if (this.#incoming.attempt !== attempt)
      return this.#live?.attempt !== attempt && this.#told?.state.kind === 'running'
    return !this.#incoming.isComplete
  }

  /** Gives the final message without the pieces that did not arrive. */
  stopWaiting(): void {
    const incoming = this.#incoming
    if (incoming?.attempt === this.#seen.attempt)
      this.#live = { attempt: incoming.attempt, answer: incoming.answer }
    this.#incoming = undefined
  }

  /** Returns the next event, or undefined if there is none yet. */
  take(): StreamEvent | undefined {
    const { attempt, state } = this.#seen
    if (!isFinal(state)) return this.#takeState() ?? this.#takeEntry()
    const id = positionText({ attempt, offset: state.kind })
    const entry = this.#takeEntry()
    if (entry) return entry
    return this.isWaiting ? undefined : { kind: 'message', id, message: this.#seen }
  }

  #takeEntry(): StreamEvent | undefined {
    const { attempt } = this.#seen
    const source = this.#incoming?.attempt === attempt ? this.#incoming : this.#live
    if (source?.attempt !== attempt) return undefined
    const { answer } = source
    if (this.#isOffset && this.#place.offset <= answer.end) {
      this.#place = answer.placeAt(this.#place.offset)
      this.#isOffset = false
    }
    const entry = answer.entryFrom(this.#place)
    if (!entry) return undefined
    this.#place = entry.to
    const { text: offset, parts: index } = entry.from
    const facts = { id: this.#position(), attempt, offset }
    return 'text' in entry
      ? { kind: 'chunk', ...facts, text: entry.text }
      : { kind: 'part', ...facts, index, part: entry.part }
  }

  #takeState(): StreamEvent | undefined {
    const { attempt, state } = this.#seen
    if (this.#told?.attempt === attempt && this.#told.state.kind === state.kind) return undefined
    this.#told = this.#seen
    return { kind: 'state', id: this.#position(), message: this.#seen }
  }

  #position(): string {
    return positionText({ attempt: this.#seen.attempt, offset: this.#place.offset })
  }
}

/**
 * The order of states within an attempt. A message is queued before its first attempt or after
 * one.
 */
const ORDER: readonly MessageStateKind[] = ['running', 'deferred', 'input_required', 'queued']

/** A final message is never older: a retry counts its attempts from 1 again. */
function isOlder(message: Message, than: Message): boolean {
  if (isFinal(message.state)) return false
  if (message.attempt !== than.attempt) return message.attempt < than.attempt
  return isFinal(than.state) || ORDER.indexOf(message.state.kind) < ORDER.indexOf(than.state.kind)
}
