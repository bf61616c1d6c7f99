import type { AnswerStream, StreamEvent } from '@org/agent-messaging-core'
import { revocationCheck, type KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import { errorObject, refuse, refusalOf } from './errors.js'
import type { MessageRef } from './ids.js'
import type { Deps } from './options.js'

/** Turns the events of a message into the server-sent events of one API. */
export type EventWriter = {
  /** True after the last event that the caller gets. */
  readonly isOver: boolean
  /** Returns the text of no, one or several events. */
  write(event: Exclude<StreamEvent, { kind: 'heartbeat' }>): string
  /** Returns the text for a stream that ends before the answer. */
  error(error: ReturnType<typeof errorObject>): string
}

/** The last line of every stream of these APIs. */
export const DONE = 'data: [DONE]\n\n'

const INTERRUPTED = errorObject({
  type: 'server_error',
  code: 'stream_interrupted',
  message: 'The stream ended before the answer. The agent continues: read the response later',
})

/** Answers with the events of the message, from its first one. */
export async function replyStream(
  c: Context<KitEnv>,
  d: Deps,
  ref: MessageRef,
  writer: EventWriter,
): Promise<Response> {
  const opened = await d.service.messages.stream({ projectId: c.get('projectId'), ...ref })
  if (opened.isErr()) return refuse(c, opened.error)
  // Undefined only for a reader that has seen the final message.
  if (!opened.value) return refuse(c, { kind: 'message_not_found' })
  return new Response(bytesOf(opened.value, writer, revocationCheck(c.get('access'), d)), {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // nginx buffers the answer otherwise.
      'X-Accel-Buffering': 'no',
      'x-request-id': c.get('requestId'),
    },
  })
}

/** Asks for an event only after the reader has taken the last one. */
function bytesOf(
  stream: AnswerStream,
  writer: EventWriter,
  isRevoked: () => Promise<boolean>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await stream.next()
        if (done) controller.enqueue(encoder.encode(writer.error(INTERRUPTED)))
        else if (await isRevoked()) {
          await stream.return?.()
          const error = errorObject(refusalOf({ kind: 'unauthorized' }))
          controller.enqueue(encoder.encode(writer.error(error)))
          return controller.close()
        } else controller.enqueue(encoder.encode(textOf(value, writer)))
        if (done || writer.isOver) {
          await stream.return?.()
          return controller.close()
        }
        // Lets other work run between two pieces of an agent that writes fast.
        if (value.kind === 'chunk') await new Promise((resolve) => void setTimeout(resolve, 0))
      },
      async cancel() {
        await stream.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

const textOf = (event: StreamEvent, writer: EventWriter): string =>
  event.kind === 'heartbeat' ? ': heartbeat\n\n' : writer.write(event)
