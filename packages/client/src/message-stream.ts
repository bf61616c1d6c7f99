import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { ApiError } from './api-error.js'
import type { Http } from './http.js'
import type { Message, MessageState, PartEvent } from './resources.js'

/** An event of a message's stream. The last event is `message` and contains the whole answer. */
export type StreamEvent = { readonly id: string } & (
  | {
      /** A state with a new attempt makes the pieces of earlier attempts invalid. */
      readonly event: 'state'
      readonly state: MessageState
      readonly attempt: number
    }
  | {
      readonly event: 'chunk'
      readonly attempt: number
      /** The UTF-16 units before this piece. A gap means that pieces were lost. */
      readonly offset: number
      readonly text: string
    }
  | {
      readonly event: 'part'
      readonly attempt: number
      /** The UTF-16 units of text before this part event. */
      readonly offset: number
      /** The part events of the attempt before it. A gap means that events were lost. */
      readonly index: number
      readonly part: PartEvent
    }
  | { readonly event: 'message'; readonly message: Message }
)

/** Three heartbeats of the service. A connection that is silent for longer is dead. */
const SILENCE_MS = 15_000

/**
 * Follows a message to its end. Reconnects after a broken or silent connection, and continues after
 * the last event. `path` is the path of the stream.
 */
export async function* streamOf(
  http: Http,
  path: string,
  signal: AbortSignal | undefined,
  silenceMs = SILENCE_MS,
): AsyncGenerator<StreamEvent, void, undefined> {
  const stopped = new AbortController()
  const ended = signal ? AbortSignal.any([signal, stopped.signal]) : stopped.signal
  let lastEventId: string | undefined
  try {
    for (;;) {
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      const response = await http.open({ method: 'GET', path, headers, signal: ended })
      if (response.status === 204 || !response.body) return
      // Another type comes from a proxy, for example. A reconnect would receive the same page.
      if (!EVENT_STREAM.test(response.headers.get('content-type') ?? '')) {
        const requestId = response.headers.get('x-request-id')
        throw new ApiError(response.status, await response.text(), requestId)
      }
      for await (const { id, event, data } of eventsIn(response.body, ended, silenceMs)) {
        lastEventId = id ?? lastEventId
        const parsed = parseEvent(event, lastEventId ?? '', data)
        if (parsed) yield parsed
        if (parsed?.event === 'message') return
      }
      await http.pause(ended)
    }
  } finally {
    stopped.abort()
  }
}

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i

/** Ends without an error when the connection breaks or is silent, so that the client reconnects. */
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

/** Returns undefined after `ms`. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Returns undefined for an unknown event of a later version of the service. */
function parseEvent(event = '', id: string, data: string): StreamEvent | undefined {
  if (event === 'message') return { event, id, message: JSON.parse(data) as Message }
  if (event !== 'state' && event !== 'chunk' && event !== 'part') return undefined
  return { event, id, ...(JSON.parse(data) as object) } as StreamEvent
}
