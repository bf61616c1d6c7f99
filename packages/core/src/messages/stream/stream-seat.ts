import type { StreamPolicy } from '../../policy.js'
import type { StreamEvent, StreamReader } from './stream-reader.js'

/**
 * Asked for one event at a time, so a reader who is slow holds up nobody and nothing piles up for it. Ends after the final message,
 * when the message is deleted or the service stops, and for a reader who has not asked for too long.
 */
export type AnswerStream = AsyncIterableIterator<StreamEvent, undefined, undefined>

/** Where a reader waits for the next event. */
export type StreamSeat = {
  readonly stream: AnswerStream
  /** Gives the reader its next event, if it waits and there is one. */
  serve(): void
  /** So much time has passed. */
  pass(ms: number): void
  /** Nothing will come any more: the stream ends when all is told. */
  finish(): void
}

type SeatOptions = Pick<StreamPolicy, 'heartbeatMs' | 'stalledMs'> & {
  readonly reader: StreamReader
  /** Called once, when the stream has ended. */
  readonly onLeave: () => void
}

export function createStreamSeat({
  reader,
  heartbeatMs,
  stalledMs,
  onLeave,
}: SeatOptions): StreamSeat {
  let waiting: ((result: IteratorResult<StreamEvent, undefined>) => void) | undefined
  let finished = false
  let left = false
  let quietMs = 0

  function leave(): void {
    if (!left) onLeave()
    left = true
  }

  function give(event: StreamEvent | undefined): void {
    quietMs = 0
    if (!event || event.kind === 'message') leave()
    const resolve = waiting
    waiting = undefined
    resolve?.(event ? { done: false, value: event } : { done: true, value: undefined })
  }

  function serve(): void {
    if (!waiting) return
    const event = left ? undefined : reader.take()
    if (event || finished || left) give(event)
  }

  const stream: AnswerStream = {
    next: () =>
      new Promise((resolve) => {
        waiting = resolve
        serve()
      }),
    async return() {
      leave()
      serve()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => stream,
  }

  return {
    stream,
    serve,
    pass(ms) {
      quietMs += ms
      if (waiting && quietMs >= heartbeatMs) give({ kind: 'heartbeat' })
      if (!waiting && quietMs >= stalledMs) leave()
    },
    finish() {
      finished = true
      serve()
    },
  }
}
