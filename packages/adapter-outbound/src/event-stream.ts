/**
 * The data of each event of a `text/event-stream`, whatever ends its lines; other fields and comments are passed over. Takes
 * linear time, however long an event is or however finely it is cut.
 */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = []
  for await (const line of linesOf(body)) {
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    if (line !== '' || data.length === 0) continue
    yield data.join('\n')
    data = []
  }
  // Not every server ends its last event.
  if (data.length > 0) yield data.join('\n')
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let unfinished = ''
  let endedInReturn = false
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true })
    if (text === '') continue
    const lines = (endedInReturn && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\n|\r/)
    endedInReturn = text.endsWith('\r')
    lines[0] = unfinished + (lines[0] ?? '')
    unfinished = lines.pop() ?? ''
    yield* lines
  }
  yield unfinished + decoder.decode()
}
