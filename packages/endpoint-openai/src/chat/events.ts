import type { StreamEvent } from '@org/agent-messaging-core'
import { AnswerText, type TextStep } from '@org/agent-messaging-http-kit'
import { errorObject, refusalOf } from '../errors.js'
import { DONE, type StreamWriter } from '../event-stream.js'
import { completionUsage } from '../usage.js'
import { answerOf, endOf, headOf } from './body.js'

type Content = Exclude<StreamEvent, { kind: 'heartbeat' }>
type Head = ReturnType<typeof headOf>

const SUPERSEDED = errorObject({
  type: 'server_error',
  code: 'answer_superseded',
  message:
    'The agent started again. Ignore the text of this stream. Repeat the request with the same ' +
    'Idempotency-Key to read the answer',
})

/** Writes the chunks of the Chat Completions API. Text that was sent cannot be taken back. */
export class ChatEvents implements StreamWriter {
  readonly #model: string
  readonly #includeUsage: boolean
  readonly #answer = new AnswerText()
  #head: Head | undefined
  #isOver = false

  /** With `includeUsage`, a chunk with the tokens follows the answer, if the run reported them. */
  constructor(model: string, includeUsage: boolean) {
    this.#model = model
    this.#includeUsage = includeUsage
  }

  get isOver(): boolean {
    return this.#isOver
  }

  write(event: Content): string {
    if (this.#isOver) return ''
    if (event.kind === 'chunk') return this.#steps(this.#answer.take(event))
    const start = this.#start(headOf(event.message, this.#model))
    const answer = answerOf(event.message)
    if (answer !== undefined) return start + this.#end(answer, completionUsage(event.message))
    if (event.kind === 'state') return start
    return start + this.error(errorObject(refusalOf(endOf(event.message))))
  }

  error(error: ReturnType<typeof errorObject>): string {
    if (this.#isOver) return ''
    this.#isOver = true
    return `data: ${JSON.stringify({ error })}\n\n${DONE}`
  }

  #end(answer: string, usage: ReturnType<typeof completionUsage>): string {
    const text = this.#steps(this.#answer.finish(answer))
    if (this.#isOver) return text
    this.#isOver = true
    const last = this.#includeUsage && usage ? this.#data({ choices: [], usage }) : ''
    return text + this.#chunk({}, 'stop') + last + DONE
  }

  #start(head: Head): string {
    if (this.#head) return ''
    this.#head = head
    return this.#chunk({ role: 'assistant', content: '' })
  }

  #steps(steps: readonly TextStep[]): string {
    let text = ''
    for (const step of steps) {
      if (step.kind === 'restart') return text + this.error(SUPERSEDED)
      text += this.#chunk({ content: step.delta })
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
