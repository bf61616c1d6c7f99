import type { Message, JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { errorOf } from '@org/agent-messaging-core/host'
import {
  AnswerSteps,
  type KitEnv,
  reply,
  RequestRefusal,
  type AnswerStep,
  type AnswerWriter,
  type KitContext,
  type WrittenEvent,
  replyAnswer,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { type EndpointError, errorObject, refusalOf, refuse } from './errors.js'
import { DONE, interruption } from './event-stream.js'
import { CHAT_FIELDS, fieldProblem } from './fields.js'
import { schemaOf } from './format.js'
import { completionId } from './ids.js'
import { type Input, readInput } from './input.js'
import type { Deps } from './options.js'
import { questionOf } from './question.js'
import { type Common, readCommon } from './request.js'
import { replayed, sendAsked, sendRoute } from './send.js'
import { completionUsage } from './usage.js'

const FIELDS = {
  sessionId: 'metadata.session_id',
  message: 'messages',
  earlierTurns: 'messages',
  responseSchema: 'response_format',
}

/** `/chat/completions`: sends a message and waits for its answer. */
export const chatRoutes = (d: Deps) =>
  new Hono<KitEnv>().post('/chat/completions', ...sendRoute(d, complete))

async function complete(c: KitContext, d: Deps, body: JsonObject): Promise<Response> {
  const { agent, stream, includeUsage, ...request } = readChatRequest(body)
  const { message, attached } = await sendAsked(
    c,
    d,
    { fields: FIELDS, agent, ...request },
    stream ? 0 : d.maxWaitMs,
  )
  if (stream) return replyAnswer(c, d, message, new ChatEvents(agent, includeUsage), refuse)
  const answer = answerOf(message)
  return answer === undefined
    ? refuse(c, endOf(message))
    : reply(c, 200, completionBody(message, agent, answer), replayed(attached))
}

type ChatRequest = Common & {
  readonly input: Input
  readonly sessionId: string | undefined
  readonly includeUsage: boolean
  readonly responseSchema: JsonObject | undefined
}

/**
 * Reads the body of a request for a completion. A session that `metadata.session_id` names has its
 * own history: then only the last message is sent.
 */
function readChatRequest(body: JsonObject): ChatRequest {
  const field = fieldProblem(body, CHAT_FIELDS)
  if (field) throw new RequestRefusal(field)
  const options = body['stream_options']
  const includeUsage = isJsonObject(options) && options['include_usage'] === true
  const common = readCommon(body)
  const input = readInput(body['messages'], { param: 'messages' })
  const { session_id: sessionId, ...metadata } = common.metadata ?? {}
  return {
    ...common,
    metadata: common.metadata && metadata,
    sessionId,
    includeUsage,
    responseSchema: schemaOf(body['response_format'], FIELDS.responseSchema),
    input: sessionId === undefined ? input : { ...input, earlierTurns: [] },
  }
}

/** The fields of a completion and of its chunks. `model` is the agent's name. */
const headOf = ({ id, createdAt }: Message, model: string) => ({
  id: completionId(id),
  created: Math.floor(createdAt / 1_000),
  model,
})

function completionBody(message: Message, model: string, answer: string) {
  const usage = completionUsage(message)
  return {
    ...headOf(message, model),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  }
}

/** Returns the text of the answer, or the question that the agent waits for. */
function answerOf(message: Message): string | undefined {
  const { state } = message
  if (state.kind === 'responded') return state.response
  const question = questionOf(message)
  return question && `${question.text}\n\n${question.how}`
}

/** Returns the error for a message without an answer: a completion has no other state. */
function endOf({ state }: Message): EndpointError {
  const error = errorOf(state)
  return error ? { kind: 'run_failed', error } : { kind: 'no_answer_yet' }
}

type Head = ReturnType<typeof headOf>

const SUPERSEDED = errorObject({
  type: 'server_error',
  code: 'answer_superseded',
  message:
    'The agent started again. Ignore the text of this stream. Repeat the request with the same ' +
    'Idempotency-Key to read the answer',
})

/** Writes the chunks of the Chat Completions API. Text that was sent cannot be taken back. */
class ChatEvents implements AnswerWriter {
  readonly #model: string
  readonly #includeUsage: boolean
  readonly #answer = new AnswerSteps()
  #head: Head | undefined
  isOver = false

  /** With `includeUsage`, a chunk with the tokens follows the answer, if the run reported them. */
  constructor(model: string, includeUsage: boolean) {
    this.#model = model
    this.#includeUsage = includeUsage
  }

  write(event: WrittenEvent): string {
    if (this.isOver || event.kind === 'part') return ''
    if (event.kind === 'chunk') return this.#steps(this.#answer.take(event))
    const start = this.#start(headOf(event.message, this.#model))
    const answer = answerOf(event.message)
    if (answer !== undefined) return start + this.#end(answer, completionUsage(event.message))
    if (event.kind === 'state') return start
    return start + this.#fail(errorObject(refusalOf(endOf(event.message))))
  }

  interrupt(code: string): string {
    return this.#fail(interruption(code))
  }

  #fail(error: ReturnType<typeof errorObject>): string {
    if (this.isOver) return ''
    this.isOver = true
    return `data: ${JSON.stringify({ error })}\n\n${DONE}`
  }

  #end(answer: string, usage: ReturnType<typeof completionUsage>): string {
    const text = this.#steps(this.#answer.complete(answer))
    if (this.isOver) return text
    this.isOver = true
    const last = this.#includeUsage && usage ? this.#data({ choices: [], usage }) : ''
    return text + this.#chunk({}, 'stop') + last + DONE
  }

  #start(head: Head): string {
    if (this.#head) return ''
    this.#head = head
    return this.#chunk({ role: 'assistant', content: '' })
  }

  #steps(steps: readonly AnswerStep[]): string {
    let text = ''
    for (const step of steps) {
      if (step.kind === 'restart') return text + this.#fail(SUPERSEDED)
      if (step.kind === 'text') text += this.#chunk({ content: step.delta })
    }
    return text
  }

  #chunk(delta: object, finish: 'stop' | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
    return this.#data({ choices, ...(this.#includeUsage && { usage: null }) })
  }

  #data(fields: object): string {
    const chunk = { ...this.#head, object: 'chat.completion.chunk', ...fields }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
}
