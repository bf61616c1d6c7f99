import type { AnswerStream, StreamEvent } from '@org/agent-messaging-core'
import type { Exchanged } from './exchange.js'

/** One or more server-sent events (WHATWG HTML §9.2) as text. */
export type EventText = {
  readonly text: string
  readonly isLast: boolean
  /** True for a piece or a part of an answer: more of them can follow at once. */
  readonly isPiece: boolean
}

export type EventSource = {
  readonly next: () => Promise<EventText>
  /** Called when the reader has left. */
  readonly close: () => Promise<unknown>
}

/** A text of this length gets no more events. */
const FULL_LENGTH = 16 * 1024

export const HEARTBEAT = ': heartbeat\n\n'

/**
 * Answers with server-sent events. Asks for the next text only after the reader has taken the last
 * one, so at most one waits for a slow reader. Hono's `streamSSE` does not tell whether the reader
 * reads. `start` gets a function that sends a text at once.
 */
export const replyEvents = (
  c: Exchanged,
  source: EventSource,
  start?: (send: (text: string) => void) => void,
): Response =>
  new Response(bytesOf(source, start), {
    headers: {
      'Content-Type': 'text/event-stream',
      // `no-transform`: Express's compression() would wait for more text otherwise.
      'Cache-Control': 'no-store, no-transform',
      // nginx buffers the answer otherwise.
      'X-Accel-Buffering': 'no',
      'X-Request-Id': c.get('requestId'),
    },
  })

function bytesOf(
  { next, close }: EventSource,
  start: ((send: (text: string) => void) => void) | undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => start?.((text) => controller.enqueue(encoder.encode(text))),
      async pull(controller) {
        const { text, isLast, isPiece } = await next()
        if (text !== '' || !isLast) controller.enqueue(encoder.encode(text))
        if (isLast) return controller.close()
        if (isPiece) await yieldToEventLoop()
      },
      async cancel() {
        await close()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Lets other work run between two pieces. Without this pause, many readers of an agent that writes
 * fast would block the event loop. Pieces that arrive during the pause are sent as one.
 */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 0))

/** An event that a writer turns into text. */
export type WrittenEvent = Exclude<StreamEvent, { kind: 'heartbeat' }>

/** Turns the events of a message into the server-sent events of one API. */
export type EventWriter = {
  /** True after the last event that the reader gets. */
  readonly isOver: boolean
  /** Returns the text of no, one or several events. */
  write(event: WrittenEvent): string | Promise<string>
}

type Reading = {
  readonly writer: EventWriter
  readonly isRevoked: () => Promise<boolean>
  /** Returns the text for a stream that ends by itself, or because its key is revoked. */
  readonly end: (isRevoked: boolean) => string
}

/** Makes the events of a message a source. It ends when its key is revoked or has expired. */
export const eventsOf = (
  stream: AnswerStream,
  { writer, isRevoked, end }: Reading,
): EventSource => ({
  async next() {
    const { done, value } = await stream.next()
    if (done) return { text: end(false), isLast: true, isPiece: false }
    if (await isRevoked()) {
      await stream.return?.()
      return { text: end(true), isLast: true, isPiece: false }
    }
    let text = ''
    let isPiece = false
    for (let event: StreamEvent | undefined = value; event; event = stream.take()) {
      const written = event.kind === 'heartbeat' ? HEARTBEAT : writer.write(event)
      text += typeof written === 'string' ? written : await written
      isPiece = event.kind === 'chunk' || event.kind === 'part'
      if (writer.isOver || text.length >= FULL_LENGTH) break
    }
    if (writer.isOver) await stream.return?.()
    return { text, isLast: writer.isOver, isPiece }
  },
  close: async () => stream.return?.(),
})
