import type { AnswerStream, StreamEvent } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { Env } from './env.js'
import { messageBody } from './wire/message.js'

/** What there is to tell, an event at a time. */
type Events = Pick<AnswerStream, 'next' | 'return'>

/**
 * Answers with a stream as server-sent events (WHATWG HTML §9.2). An event is asked for only when the last one has been taken off
 * our hands, so what waits for a slow reader is one event and not a pile. Not Hono's `streamSSE`: that hides whether anybody reads.
 */
export const replyEvents = (c: Context<Env>, stream: Events): Response =>
  new Response(bytesOf(stream), {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // For nginx, which would collect the answer before it passes it on.
      'X-Accel-Buffering': 'no',
      'X-Request-Id': c.get('requestId'),
    },
  })

function bytesOf(stream: Events): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await stream.next()
        if (done) return controller.close()
        controller.enqueue(encoder.encode(textOf(value)))
        if (value.kind === 'chunk') await othersTurn()
      },
      async cancel() {
        await stream.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Between two pieces for a reader everybody else has a turn: many readers of an agent that writes fast would keep the event loop to themselves,
 * from one piece to the next. What is written meanwhile comes in one piece.
 */
const othersTurn = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 0))

/** JSON has no line breaks, so every event's data is one line. */
function textOf(event: StreamEvent): string {
  if (event.kind === 'heartbeat') return ': heartbeat\n\n'
  return `event: ${event.kind}\nid: ${event.id}\ndata: ${JSON.stringify(dataOf(event))}\n\n`
}

function dataOf(event: Exclude<StreamEvent, { kind: 'heartbeat' }>) {
  switch (event.kind) {
    case 'state':
      return { state: event.message.state.kind, attempt: event.message.attempt }
    case 'chunk':
      return { attempt: event.attempt, offset: event.offset, text: event.text }
    case 'message':
      return messageBody(event.message)
  }
}
