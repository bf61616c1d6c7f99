import { complete, type CompleteOptions } from './complete.js'
import { segment, type Http } from './http.js'
import { streamOf, type StreamEvent } from './message-stream.js'
import { listOf, type List, type PageInput } from './pages.js'
import type {
  FoundMessage,
  Message,
  MessageRun,
  MessageRuns,
  MessageState,
  NewInputAnswer,
  NewMessage,
  NewRetry,
  Recovery,
  SendOptions,
  Sent,
  Story,
} from './resources.js'

type MessageFilter = {
  readonly sessionId?: string
  readonly status?: Message['status']
  readonly state?: MessageState
  readonly order?: 'asc' | 'desc'
  /** True to get the parts of answers too. */
  readonly parts?: boolean
}

export type MessageSearch = {
  /** The id or the name of an agent. Default: all agents. */
  readonly agent?: string
  readonly messageId?: string
  readonly sessionId?: string
  readonly endUserId?: string
  /** `correlationId` of the metadata: a string, or the text of a number. */
  readonly correlationId?: string
  /**
   * A part of the message, of its answer or of its session's name, or the last 8 or more characters
   * of its id. At most 100 characters. ASCII letters match in either case.
   */
  readonly text?: string
  readonly status?: Message['status']
  readonly state?: MessageState
  /** ISO 8601. Inclusive. */
  readonly createdAfter?: string
  /** ISO 8601. Exclusive. */
  readonly createdBefore?: string
  /** True to get the parts of answers too. */
  readonly parts?: boolean
}

export function messagesOf(http: Http) {
  const path = (agent: string, rest = '') => `/v1/agents${segment(agent)}/messages${rest}`

  async function send(
    agent: string,
    message: NewMessage,
    options: SendOptions = {},
  ): Promise<Sent> {
    const { idempotencyKey = crypto.randomUUID(), waitSeconds, signal } = options
    const prefer = waitSeconds === 0 ? 'respond-async' : `wait=${waitSeconds}`
    const headers = {
      'idempotency-key': idempotencyKey,
      ...(waitSeconds !== undefined && { prefer }),
    }
    const call = { path: path(agent), body: message, headers, signal, retryable: true }
    return http.json({ method: 'POST', ...call })
  }

  function get(
    agent: string,
    messageId: string,
    options: Pick<SendOptions, 'waitSeconds' | 'signal'> = {},
  ): Promise<Message> {
    const { waitSeconds, signal } = options
    const headers = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` }
    return http.json({ method: 'GET', path: path(agent, segment(messageId)), headers, signal })
  }

  return {
    /** Resolves when the message is stored. The result contains the answer if it came in time. */
    send,
    /** Waits for the answer if `waitSeconds` is set. */
    get,
    /**
     * Sends a message and polls until it is final or waits for a person. Rejects with
     * `NotCompletedError` after `timeoutMs` or when the service is unreachable. Rejects with a
     * `TimeoutError` if the service did not accept the message in time.
     */
    complete: (
      agent: string,
      message: NewMessage,
      options: CompleteOptions = {},
    ): Promise<Message> =>
      complete(
        {
          send: (sendOptions) => send(agent, message, sendOptions),
          get: (messageId, getOptions) => get(agent, messageId, getOptions),
          pause: http.pause,
        },
        options,
      ),
    /** Lists the newest messages first, unless `order` is `asc`. */
    list: (agent: string, filter?: MessageFilter & PageInput): List<Message> =>
      listOf(http, path(agent), filter),
    /** Finds messages of all agents or of one, newest first. A page says how far it looked. */
    search: (search?: MessageSearch & PageInput): List<FoundMessage> =>
      listOf(http, '/v1/messages', search),
    /** Lists the runs of a message, oldest first. */
    runs: async (agent: string, messageId: string): Promise<readonly MessageRun[]> =>
      (await http.get<MessageRuns>(path(agent, `${segment(messageId)}/runs`))).runs,
    /** Says why a message has no answer, or which receivers do not have it. */
    story: (messageId: string): Promise<Story> =>
      http.get(`/v1/messages${segment(messageId)}/story`),
    /** Yields the states and the pieces of the answer. A consumer can stop without an effect. */
    stream: (
      agent: string,
      messageId: string,
      options: Pick<SendOptions, 'signal'> = {},
    ): AsyncGenerator<StreamEvent, void, undefined> =>
      streamOf(http, path(agent, `${segment(messageId)}/stream`), options.signal),
    /** Answers a question of the agent. The same answer can be sent again. */
    answer: (agent: string, messageId: string, answer: NewInputAnswer): Promise<Message> =>
      http.repeatable('POST', path(agent, `${segment(messageId)}/input`), answer),
    cancel: (agent: string, messageId: string): Promise<Message> =>
      http.repeatable('POST', path(agent, `${segment(messageId)}/cancel`)),
    ...retriesOf(http, path),
  }
}

const retriesOf = (http: Http, path: (agent: string, rest?: string) => string) => ({
  retry: (agent: string, messageId: string): Promise<Message> =>
    http.post(path(agent, `${segment(messageId)}/retry`)),
  /**
   * Starts a task that retries an agent's failed messages. Follow it with `recoveries.get`, which
   * needs the permission `project:webhooks` or `project:read`.
   */
  retryFailed: (agent: string, filter: NewRetry = {}): Promise<Recovery> =>
    http.post(`/v1/agents${segment(agent)}/retry-failed`, filter),
})
