import { TooLarge } from './streamed-response.js'

/** `isEnded` is false if the stream ended without the blank line that completes this event. */
type EventData = { readonly data: string; readonly isEnded: boolean }

/**
 * Yields the data of each event of a `text/event-stream`. Ignores other fields and comments. Takes
 * linear time for any length of events and chunks. Throws `TooLarge` as soon as an event or a line
 * has more than `maxLength` UTF-16 units, so memory stays bounded.
 */
export async function* eventData(
  body: ReadableStream<Uint8Array>,
  maxLength: number,
): AsyncGenerator<EventData> {
  let data: string[] = []
  let length = 0
  for await (const line of linesOf(body, maxLength)) {
    if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5))
      length += line.length
      if (length > maxLength) throw tooLong(maxLength)
    }
    if (line !== '' || data.length === 0) continue
    yield { data: data.join('\n'), isEnded: true }
    data = []
    length = 0
  }
  // Some servers do not end their last event.
  if (data.length > 0) yield { data: data.join('\n'), isEnded: false }
}

async function* linesOf(
  body: ReadableStream<Uint8Array>,
  maxLength: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let unfinished = ''
  let endedInReturn = false
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true })
    if (text === '') continue
    const rest = endedInReturn && text.startsWith('\n') ? text.slice(1) : text
    const lines = rest.split(/\r\n|\n|\r/)
    endedInReturn = text.endsWith('\r')
    lines[0] = unfinished + (lines[0] ?? '')
    unfinished = lines.pop() ?? ''
    yield* lines
    if (unfinished.length > maxLength) throw tooLong(maxLength)
  }
  yield unfinished + decoder.decode()
}

const tooLong = (maxLength: number): TooLarge =>
  new TooLarge(`an event of more than ${maxLength} characters`)
