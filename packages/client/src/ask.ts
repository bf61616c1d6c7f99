import { NotCompletedError, type CompleteOptions } from './complete.js'
import type { Message, NewMessage } from './resources.js'

export type AskOptions = Pick<CompleteOptions, 'idempotencyKey' | 'timeoutMs' | 'signal'> &
  Pick<NewMessage, 'parts' | 'responseSchema' | 'executionPrincipal' | 'metadata'> & {
    /** Default: a new session. With an idempotency key, its name comes from the key. */
    readonly sessionId?: string
  }

/**
 * Why `ask` has no answer. The agent goes on after `no_answer_yet`, and waits for a person after
 * `input_required`. `question` is what it asks.
 */
export class MessagingError extends Error {
  override readonly name = 'MessagingError'
  readonly kind: 'message_failed' | 'message_cancelled' | 'input_required' | 'no_answer_yet'
  readonly messageId: string
  readonly question?: Message['input']

  constructor(
    kind: MessagingError['kind'],
    messageId: string,
    why: string,
    { question, ...options }: ErrorOptions & { readonly question?: Message['input'] } = {},
  ) {
    super(why, options)
    this.kind = kind
    this.messageId = messageId
    if (question) this.question = question
  }
}

type Complete = (agent: string, message: NewMessage, options: CompleteOptions) => Promise<Message>

export const asker =
  (complete: Complete) =>
  async (
    agent: string,
    message: string,
    { sessionId, parts, responseSchema, executionPrincipal, metadata, ...options }: AskOptions = {},
  ): Promise<string> => {
    const sent = {
      sessionId: sessionId ?? (await newSession(options.idempotencyKey)),
      message,
      ...(executionPrincipal !== undefined && { executionPrincipal }),
      ...(parts && { parts }),
      ...(responseSchema && { responseSchema }),
      ...(metadata && { metadata }),
    }
    return answerOf(await complete(agent, sent, options).catch(withoutAnswer))
  }

function withoutAnswer(error: unknown): never {
  if (!(error instanceof NotCompletedError)) throw error
  throw new MessagingError('no_answer_yet', error.messageId, error.message, { cause: error })
}

function answerOf({ messageId, state, response = '', error, input }: Message): string {
  if (state === 'responded') return response
  if (state === 'input_required')
    throw new MessagingError(state, messageId, `The agent asks: ${input?.question}`, {
      question: input,
    })
  throw state === 'cancelled'
    ? new MessagingError('message_cancelled', messageId, 'The message was cancelled')
    : new MessagingError('message_failed', messageId, `The agent did not answer: ${error?.message}`)
}

async function newSession(key: string | undefined): Promise<string> {
  if (key === undefined) return `ask-${crypto.randomUUID()}`
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  const bytes = [...new Uint8Array(digest)]
  return `ask-${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
