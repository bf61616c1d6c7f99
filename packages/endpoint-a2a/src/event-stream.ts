import { formatSSEErrorEvent, formatSSEEvent } from '@a2a-js/sdk'
import { HEARTBEAT, replyEvents, type EventText } from '@org/agent-messaging-http-kit'
import type { RouteContext } from './env.js'

type Writer = {
  /** Returns the error as an event of the binding. */
  readonly error: (error: unknown) => unknown
}

/**
 * Answers with the events. Throws if the first one fails, so that the caller gets an error instead
 * of a stream.
 */
export async function replyStream(
  c: RouteContext,
  events: AsyncGenerator<unknown, void, undefined>,
  writer: Writer,
): Promise<Response> {
  const handler = c.get('handler')
  let first: IteratorResult<unknown, void> | undefined = await events.next()
  async function next(): Promise<EventText> {
    try {
      const { done = false, value } = first ?? (await events.next())
      first = undefined
      return { text: done ? '' : formatSSEEvent(value), isLast: done, isPiece: true }
    } catch (error) {
      return { text: formatSSEErrorEvent(writer.error(error)), isLast: true, isPiece: false }
    }
  }
  async function close(): Promise<void> {
    handler.onQuiet = undefined
    await handler.close()
  }
  return replyEvents(c, { next, close }, (send) => (handler.onQuiet = () => send(HEARTBEAT)))
}
