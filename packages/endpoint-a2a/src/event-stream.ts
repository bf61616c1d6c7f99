import { formatSSEErrorEvent, formatSSEEvent } from '@a2a-js/sdk'
import type { Context } from 'hono'
import type { Env } from './env.js'

type Writer = {
  /** Returns the error as an event of the binding. */
  readonly error: (error: unknown) => unknown
}

/**
 * Answers with the events. Throws if the first one fails, so that the caller gets an error instead
 * of a stream. Asks for an event only after the reader has taken the last one.
 */
export async function replyStream(
  c: Context<Env>,
  events: AsyncGenerator<unknown, void, undefined>,
  writer: Writer,
): Promise<Response> {
  const handler = c.get('handler')
  const encoder = new TextEncoder()
  let next: IteratorResult<unknown, void> | undefined = await events.next()
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        handler.onQuiet = () => controller.enqueue(encoder.encode(': heartbeat\n\n'))
      },
      async pull(controller) {
        try {
          const { done, value } = next ?? (await events.next())
          next = undefined
          if (done) return controller.close()
          controller.enqueue(encoder.encode(formatSSEEvent(value)))
          // Lets other work run between two pieces of an agent that writes fast.
          await new Promise((resolve) => void setTimeout(resolve, 0))
        } catch (error) {
          controller.enqueue(encoder.encode(formatSSEErrorEvent(writer.error(error))))
          controller.close()
        }
      },
      async cancel() {
        handler.onQuiet = undefined
        await handler.close()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // nginx buffers the answer otherwise.
      'X-Accel-Buffering': 'no',
      'x-request-id': c.get('requestId'),
    },
  })
}
