import type { AnswerStream, StreamEvent } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { Env } from './env.js'
import type { BodyOf } from './wire/body.js'
import { messageBody, type messageSchema } from './wire/message.js'
import type { streamChunkSchema, streamStateSchema } from './wire/stream.js'

type Events = Pick<AnswerStream, 'next' | 'return'>

/**
 * Answers with server-sent events (WHATWG HTML §9.2). The stream asks for an event only after the
 * reader has taken the last one, so at most one event waits for a slow reader. Hono's `streamSSE`
 * does not tell whether the reader reads.
 */
export const replyEvents = (c: Context<Env>, stream: Events): Response =>
  new Response(bytesOf(stream), {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // nginx buffers the answer otherwise.
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
        if (value.kind === 'chunk') await yieldToEventLoop()
      },
      async cancel() {
        await stream.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Lets other work run between two chunks. Without this pause, many readers of an agent that writes
 * fast would block the event loop. Chunks that arrive during the pause are sent as one.
 */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 0))

/** Returns the event as text. Its data is one line, because JSON has no line breaks. */
function textOf(event: StreamEvent): string {
  if (event.kind === 'heartbeat') return ': heartbeat\n\n'
  return `event: ${event.kind}\nid: ${event.id}\ndata: ${JSON.stringify(dataOf(event))}\n\n`
}

type Data =
  | BodyOf<typeof streamStateSchema>
  | BodyOf<typeof streamChunkSchema>
  | BodyOf<typeof messageSchema>

function dataOf(event: Exclude<StreamEvent, { kind: 'heartbeat' }>): Data {
  switch (event.kind) {
    case 'state':
      return { state: event.message.state.kind, attempt: event.message.attempt }
    case 'chunk':
      return { attempt: event.attempt, offset: event.offset, text: event.text }
    case 'message':
      return messageBody(event.message)
  }
}
