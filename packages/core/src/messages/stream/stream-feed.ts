import type { Message } from '../../domain/messages/message.js'
import type { StreamPosition } from '../../domain/messages/stream-position.js'
import type { StreamPolicy } from '../../policy.js'
import type { IncomingAnswer } from './incoming-answer.js'
import type { LiveAnswer } from './live-answer.js'
import { StreamCursor, type StreamEvent } from './stream-cursor.js'

/**
 * The events of one message. The reader asks for one event at a time, so a slow reader takes no
 * memory. The stream ends after the final message, when the message is deleted, when the service
 * stops, and when the reader has asked for no event for too long.
 */
export type AnswerStream = AsyncIterableIterator<StreamEvent, undefined, undefined> & {
  /** Returns the next event if it is there already. Call this only if no call of `next` waits. */
  readonly take: () => StreamEvent | undefined
}

type FeedOptions = {
  readonly message: Message
  readonly after: StreamPosition | undefined
  readonly policy: StreamPolicy
  /** Called once, when the stream has ended. */
  readonly onEnd: (feed: StreamFeed) => void
}

/** The longest that a final message waits for the pieces before it. */
const MAX_WAIT_MS = 2_000

/** Gives a reader the events of a message as they happen. */
export class StreamFeed {
  readonly message: Message
  readonly stream: AnswerStream
  readonly #cursor: StreamCursor
  readonly #options: FeedOptions
  /** The reader's open request for an event. */
  #request: ((result: IteratorResult<StreamEvent, undefined>) => void) | undefined
  #isFinished = false
  #hasEnded = false
  /** Time since the last event. */
  #quietMs = 0
  /** Time that the final message has waited for pieces from another process. */
  #waitedMs = 0

  constructor(options: FeedOptions) {
    this.message = options.message
    this.#cursor = new StreamCursor(options.message, options.after)
    this.#options = options
    this.stream = {
      next: () => this.#next(),
      take: () => this.#take(),
      return: async () => {
        this.#end()
        this.serve()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => this.stream,
    }
  }

  show(message: Message): void {
    this.#cursor.see(message)
    this.serve()
  }

  /** Shows what a run of this process emits. */
  follow(message: Message, answer: LiveAnswer): void {
    this.#cursor.follow(message, answer)
    this.serve()
  }

  /** Shows what a run of another process emits. */
  followIncoming(incoming: IncomingAnswer): void {
    this.#cursor.followIncoming(incoming)
    this.serve()
  }

  /** Answers the reader's request if there is an event, or if the stream ends. */
  serve(): void {
    if (!this.#request) return
    const event = this.#take()
    if (event || this.#isFinished || this.#hasEnded) this.#give(event)
  }

  /**
   * Sends a heartbeat if the stream was quiet for too long. Ends a stream whose reader has
   * stalled.
   */
  elapse(ms: number): void {
    const { heartbeatMs, stalledMs } = this.#options.policy
    this.#quietMs += ms
    if (this.#cursor.isWaiting) this.#waitedMs += ms
    if (this.#waitedMs >= MAX_WAIT_MS) {
      this.#cursor.stopWaiting()
      this.serve()
    }
    if (this.#request && this.#quietMs >= heartbeatMs) this.#give({ kind: 'heartbeat' })
    if (!this.#request && this.#quietMs >= stalledMs) this.#end()
  }

  /** Ends the stream after the events that there are now. */
  finish(): void {
    this.#isFinished = true
    this.serve()
  }

  #next(): Promise<IteratorResult<StreamEvent, undefined>> {
    return new Promise((resolve) => {
      this.#request = resolve
      this.serve()
    })
  }

  #take(): StreamEvent | undefined {
    const event = this.#hasEnded ? undefined : this.#cursor.take()
    if (event?.kind === 'message') this.#end()
    return event
  }

  #give(event: StreamEvent | undefined): void {
    this.#quietMs = 0
    if (!event) this.#end()
    const resolve = this.#request
    this.#request = undefined
    resolve?.(event ? { done: false, value: event } : { done: true, value: undefined })
  }

  #end(): void {
    if (!this.#hasEnded) this.#options.onEnd(this)
    this.#hasEnded = true
  }
}
