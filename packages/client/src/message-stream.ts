import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { ApiError } from './api-error.js'
import type { Http } from './http.js'
import type { Message, MessageState } from './resources.js'

/** A message as it comes about. The last event is `message`, whose answer is whole whichever pieces came. */
export type StreamEvent =
  /** Pieces of an earlier attempt than this one's count no more. */
  | { readonly event: 'state'; readonly state: MessageState; readonly attempt: number }
  /** `offset` counts the UTF-16 units before it in this attempt: behind the last piece, unless some were lost. */
  | {
      readonly event: 'chunk'
      readonly attempt: number
      readonly offset: number
      readonly text: string
    }
  | { readonly event: 'message'; readonly message: Message }

/** Three heartbeats of the service: a connection on which nothing comes for so long is no more, though nobody said so. */
const SILENCE_MS = 45_000

/**
 * Follows a message to its end, over connections that break or fall silent and servers that stop: each new one goes on where the last
 * ended. `path` is the stream's. What stops the iteration leaves the message as it is.
 */
export async function* streamOf(
  http: Http,
  path: string,
  signal: AbortSignal | undefined,
  silenceMs = SILENCE_MS,
): AsyncGenerator<StreamEvent, void, undefined> {
  const end = new AbortController()
  const ends = signal ? AbortSignal.any([signal, end.signal]) : end.signal
  let lastEventId: string | undefined
  try {
    for (;;) {
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      const answer = await http.open({ method: 'GET', path, headers, signal: ends })
      if (answer.status === 204 || !answer.body) return
      // A page of a proxy, say: it would come again each time.
      if (!EVENT_STREAM.test(answer.headers.get('content-type') ?? ''))
        throw new ApiError(answer.status, await answer.text(), answer.headers.get('x-request-id'))
      for await (const { id, event, data } of eventsIn(answer.body, ends, silenceMs)) {
        lastEventId = id ?? lastEventId
        const told = eventOf(event, data)
        if (told) yield told
        if (told?.event === 'message') return
      }
      await http.pause(ends)
    }
  } finally {
    end.abort()
  }
}

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i

/** Ends, and does not throw, when the connection breaks or is silent: the next one goes on. */
async function* eventsIn(body: ReadableStream<Uint8Array>, signal: AbortSignal, silenceMs: number) {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void events.push(event) })
  try {
    for (;;) {
      const next = await within(silenceMs, reader.read()).catch(() => undefined)
      signal.throwIfAborted()
      if (!next?.value) return
      parser.feed(next.value)
      yield* events.splice(0)
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

/** Undefined when it takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Undefined for an event of a later version of the service. */
function eventOf(event: string | undefined, data: string): StreamEvent | undefined {
  if (event === 'message') return { event, message: JSON.parse(data) as Message }
  if (event !== 'state' && event !== 'chunk') return undefined
  return { event, ...(JSON.parse(data) as object) } as StreamEvent
}
