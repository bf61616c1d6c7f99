import { createParser } from 'eventsource-parser'
import { TooLarge } from './streamed-response.js'

type EventData = {
  readonly event: string | undefined
  readonly data: string
  /** False if the stream ended without the blank line that completes this event. */
  readonly isEnded: boolean
}

/**
 * Yields each event of a `text/event-stream`. Throws `TooLarge` if an unfinished event
 * has more than `maxLength` UTF-16 units, so memory stays bounded.
 */
export async function* eventData(
  body: ReadableStream<Uint8Array>,
  maxLength: number,
): AsyncGenerator<EventData> {
  const events: EventData[] = []
  let isEnded = true
  let isTooLong = false
  const parser = createParser({
    maxBufferSize: maxLength,
    onEvent: ({ event, data }) => events.push({ event, data, isEnded }),
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded'
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    yield* events.splice(0)
    if (isTooLong) throw new TooLarge(`an event of more than ${maxLength} characters`)
  }
  // Some servers do not end their last event.
  isEnded = false
  parser.feed(`${decoder.decode()}\n\n`)
  yield* events
}
