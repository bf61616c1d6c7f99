import { TooLarge } from './streamed-answer.js'

/** `isEnded` is false of the last one where no blank line stands behind it: it may be whole, or cut off. */
type EventData = { readonly data: string; readonly isEnded: boolean }

/**
 * The data of each event of a `text/event-stream`, whatever ends its lines; other fields and comments are passed over. Takes
 * linear time, however long an event is or however finely it is cut. Throws `TooLarge` as soon as an event, or a line, has more than
 * `maxLength` UTF-16 units: no more of it is ever held.
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
  // Not every server ends its last event.
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
    const lines = (endedInReturn && text.startsWith('\n') ? text.slice(1) : text).split(
      /\r\n|\n|\r/,
    )
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
