import { ApiError } from './api-error.js'
import type { Message, MessageState, SendOptions, Sent } from './resources.js'

export type CompleteOptions = Omit<SendOptions, 'waitSeconds'> & {
  /** After this time, plus a few seconds, the client stops waiting. The default is 10 minutes. */
  readonly timeoutMs?: number
}

/**
 * The service accepted the message, but the answer did not come in time, or the connection was lost
 * (`cause`). The agent continues, and `messages.get` and the webhooks return the answer later. A
 * new send without the idempotency key creates another message.
 */
export class NotCompletedError extends Error {
  readonly messageId: string

  /** `why` continues the sentence "message … has no answer". */
  constructor(messageId: string, why: string, options?: ErrorOptions) {
    super(`message ${messageId} has no answer ${why}`, options)
    this.name = 'NotCompletedError'
    this.messageId = messageId
  }
}

const TIMEOUT_MS = 10 * 60_000
/** Extra time for a response that is on its way when the time ends. */
const GRACE_MS = 5_000
/** The limit of timers: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** The limit of one long poll. */
const MAX_WAIT_SECONDS = 25

type MessageCalls = {
  send(options: SendOptions): Promise<Sent>
  get(messageId: string, options: Pick<SendOptions, 'waitSeconds' | 'signal'>): Promise<Message>
  pause(signal: AbortSignal): Promise<void>
}

/** Sends a message and polls until it is final or waits for a person. */
export async function complete(
  { send, get, pause }: MessageCalls,
  { timeoutMs = TIMEOUT_MS, signal, ...options }: CompleteOptions,
): Promise<Message> {
  const end = performance.now() + timeoutMs
  const timer = AbortSignal.timeout(Math.max(0, Math.min(timeoutMs + GRACE_MS, MAX_TIMER_MS)))
  const limited = signal ? AbortSignal.any([signal, timer]) : timer
  const poll = () => ({ signal: limited, waitSeconds: secondsUntil(end) })
  const { messageId } = await send({ ...options, ...poll() })
  try {
    for (;;) {
      const message = await get(messageId, poll())
      if (isSettled(message.state)) return message
      if (performance.now() >= end) break
      // A busy service can answer a long poll immediately. The pause limits the rate of polls.
      await pause(limited)
    }
  } catch (error) {
    if (signal?.aborted || isServiceError(error)) throw error
    if (!timer.aborted)
      throw new NotCompletedError(messageId, 'yet, and the connection is lost', { cause: error })
  }
  throw new NotCompletedError(messageId, `after ${timeoutMs} ms`)
}

/** The service rejected the request. A proxy's 5xx says nothing about the message. */
const isServiceError = (error: unknown) =>
  error instanceof ApiError && error.status < 500 && error.status !== 429

const secondsUntil = (end: number) =>
  Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.ceil((end - performance.now()) / 1000)))

const isSettled = (state: MessageState) =>
  state === 'responded' || state === 'failed' || state === 'cancelled' || state === 'input_required'
