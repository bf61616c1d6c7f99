import {
  callerOf,
  eventsOf,
  replyEvents,
  revocationCheck,
  type EventWriter,
  type KitEnv,
} from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import { errorObject, refuse, refusalOf } from './errors.js'
import type { MessageRef } from './ids.js'
import type { Deps } from './options.js'

/** Writes the events of one of OpenAI's APIs. */
export type StreamWriter = EventWriter & {
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
  writer: StreamWriter,
): Promise<Response> {
  const stream = await d.service.messages.stream({ ...callerOf(c), ...ref })
  // Undefined only for a reader that has seen the final message.
  if (!stream) return refuse(c, { kind: 'message_not_found' })
  const end = (isRevoked: boolean) =>
    writer.error(isRevoked ? errorObject(refusalOf({ kind: 'unauthorized' })) : INTERRUPTED)
  const isRevoked = revocationCheck(c.get('requester'), d)
  return replyEvents(c, eventsOf(stream, { writer, isRevoked, end }))
}
