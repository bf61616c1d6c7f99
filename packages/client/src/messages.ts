import { ApiError } from './api-error.js'
import { step, type Http } from './http.js'
import { streamOf, type StreamEvent } from './message-stream.js'
import { rowsOf } from './pages.js'
import type { Message, MessageState, NewMessage, Sent } from './resources.js'

export type SendOptions = {
  /** One key makes one message, however often it is sent. Made for each call unless given, and kept over its own retries. */
  readonly idempotencyKey?: string
  /** So long the service waits for the answer, in whole seconds; its own default if absent, 0 for not at all. */
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
}
export type CompleteOptions = Omit<SendOptions, 'waitSeconds'> & {
  /** Gives up after so long, or a few seconds more, and leaves the message where it is; 10 minutes unless given. */
  readonly timeoutMs?: number
}

/**
 * The message was accepted, and its answer did not come in time, or the connection was lost (`cause`) while it was waited for. The work
 * goes on: `messages.get` and the webhook have it later. To send it again without its key would be another message.
 */
export class NotCompletedError extends Error {
  readonly messageId: string

  /** `why` ends the sentence "it has no answer". */
  constructor(messageId: string, why: string, options?: ErrorOptions) {
    super(`message ${messageId} has no answer ${why}`, options)
    this.name = 'NotCompletedError'
    this.messageId = messageId
  }
}

const COMPLETE_TIMEOUT_MS = 10 * 60_000
/** An answer that is under way when the time is over has so long to arrive. */
const LAST_WORD_MS = 5_000
/** What timers can take: 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** Of one long poll. */
const LONGEST_WAIT_SECONDS = 25

export function messagesOf(http: Http) {
  const path = (agent: string, rest = ''): string => `/v1/agents${step(agent)}/messages${rest}`

  async function send(
    agent: string,
    message: NewMessage,
    options: SendOptions = {},
  ): Promise<Sent> {
    const { idempotencyKey = crypto.randomUUID(), waitSeconds, signal } = options
    const prefer =
      waitSeconds === undefined
        ? {}
        : { prefer: waitSeconds === 0 ? 'respond-async' : `wait=${waitSeconds}` }
    const headers = { 'idempotency-key': idempotencyKey, ...prefer }
    return http.json({
      method: 'POST',
      path: path(agent),
      body: message,
      headers,
      signal,
      mayRepeat: true,
    })
  }

  function get(
    agent: string,
    messageId: string,
    options: Pick<SendOptions, 'waitSeconds' | 'signal'> = {},
  ): Promise<Message> {
    const { waitSeconds, signal } = options
    const headers = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` }
    return http.json({ method: 'GET', path: path(agent, step(messageId)), headers, signal })
  }

  return {
    /** Accepted durably once it resolves; answered if the answer came within the wait. */
    send,
    /** With `waitSeconds` it waits for the answer. */
    get,
    /**
     * Sends and waits until the message is final, in long polls. Rejects with `NotCompletedError` when that takes too long, or the service
     * is gone before; with a `TimeoutError` when the message was not even accepted in time.
     */
    complete: async (
      agent: string,
      message: NewMessage,
      options: CompleteOptions = {},
    ): Promise<Message> => {
      const { timeoutMs = COMPLETE_TIMEOUT_MS, signal, ...sending } = options
      const end = Date.now() + timeoutMs
      const over = AbortSignal.timeout(
        Math.max(0, Math.min(timeoutMs + LAST_WORD_MS, LONGEST_TIMER_MS)),
      )
      const ends = signal ? AbortSignal.any([signal, over]) : over
      const { messageId } = await send(agent, message, {
        ...sending,
        signal: ends,
        waitSeconds: waitUntil(end),
      })
      try {
        for (;;) {
          const found = await get(agent, messageId, { signal: ends, waitSeconds: waitUntil(end) })
          if (isFinal(found.state)) return found
          if (Date.now() >= end) break
          // A service that is full, or is told to hold nobody, answers at once: to ask as often as it answers would be a flood.
          await http.pause(ends)
        }
      } catch (error) {
        if (signal?.aborted || isRefusal(error)) throw error
        if (!over.aborted)
          throw new NotCompletedError(messageId, 'yet, and the connection is lost', {
            cause: error,
          })
      }
      throw new NotCompletedError(messageId, `after ${timeoutMs} ms`)
    },
    /** Newest first, unless `order` is `asc`. */
    list: (
      agent: string,
      filter: {
        readonly sessionId?: string
        readonly status?: Message['status']
        readonly state?: MessageState
        readonly order?: 'asc' | 'desc'
      } = {},
    ): AsyncGenerator<Message, void, undefined> => rowsOf(http, path(agent), filter),
    /** The message as it comes about, piece by piece where the agent answers so. Stopping to iterate changes nothing for it. */
    stream: (
      agent: string,
      messageId: string,
      options: Pick<SendOptions, 'signal'> = {},
    ): AsyncGenerator<StreamEvent, void, undefined> =>
      streamOf(http, path(agent, `${step(messageId)}/stream`), options.signal),
    cancel: (agent: string, messageId: string): Promise<Message> =>
      http.json({
        method: 'POST',
        path: path(agent, `${step(messageId)}/cancel`),
        mayRepeat: true,
      }),
    retry: (agent: string, messageId: string): Promise<Message> =>
      http.json({ method: 'POST', path: path(agent, `${step(messageId)}/retry`) }),
  }
}

/** What the service itself says of the message. A connection that fails, or a proxy without its service, tells nothing of it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.status < 500 && error.status !== 429

const waitUntil = (end: number): number =>
  Math.max(0, Math.min(LONGEST_WAIT_SECONDS, Math.ceil((end - Date.now()) / 1000)))
const isFinal = (state: MessageState): boolean =>
  state === 'responded' || state === 'failed' || state === 'cancelled'
