import type { StreamEvent } from '@org/agent-messaging-core'
import type { EventWriter } from '@org/agent-messaging-http-kit'
import type { BodyOf } from './wire/body.js'
import { messageBody, type messageSchema } from './wire/message.js'
import type { streamChunkSchema, streamStateSchema } from './wire/stream.js'

/** Writes the events of a message. The stream ends by itself after the final one. */
export const writer: EventWriter = { isOver: false, write: textOf }

/** Returns the event as text. Its data is one line, because JSON has no line breaks. */
function textOf(event: Content): string {
  return `event: ${event.kind}\nid: ${event.id}\ndata: ${JSON.stringify(dataOf(event))}\n\n`
}

type Content = Exclude<StreamEvent, { kind: 'heartbeat' }>
type Data =
  | BodyOf<typeof streamStateSchema>
  | BodyOf<typeof streamChunkSchema>
  | BodyOf<typeof messageSchema>

function dataOf(event: Content): Data {
  switch (event.kind) {
    case 'state':
      return { state: event.message.state.kind, attempt: event.message.attempt }
    case 'chunk':
      return { attempt: event.attempt, offset: event.offset, text: event.text }
    case 'message':
      return messageBody(event.message)
  }
}
