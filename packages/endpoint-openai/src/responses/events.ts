import type { Message, StreamEvent } from '@org/agent-messaging-core'
import { AnswerText, type TextStep } from '@org/agent-messaging-http-kit'
import type { errorObject } from '../errors.js'
import { DONE, type StreamWriter } from '../event-stream.js'
import { itemId } from '../ids.js'
import { questionOf } from '../question.js'
import { openBody, outputItem, responseBody, textPart } from './body.js'

type Content = Exclude<StreamEvent, { kind: 'heartbeat' }>

/**
 * Writes the events of the Responses API. A text that becomes void ends as an incomplete item, and
 * the next item has the answer. The response itself contains only the answer.
 */
export class ResponseEvents implements StreamWriter {
  readonly #model: string
  readonly #answer = new AnswerText()
  #sequence = 0
  #hasStarted = false
  #isOver = false
  #item: { readonly id: string; readonly index: number; readonly isOpen: boolean } | undefined

  /** `model` is the agent's name. */
  constructor(model: string) {
    this.#model = model
  }

  get isOver(): boolean {
    return this.#isOver
  }

  write(event: Content): string {
    switch (event.kind) {
      case 'state':
        return this.#start(event.message) + this.#state(event.message)
      case 'chunk':
        return this.#steps(this.#answer.take(event))
      case 'part':
        return ''
      case 'message':
        return this.#start(event.message) + this.#end(event.message)
    }
  }

  /** Open Responses has the fields in `error`, and OpenAI has them beside `type`. */
  error(error: ReturnType<typeof errorObject>): string {
    const { code, message, param } = error
    this.#isOver = true
    return this.#event('error', { code, message, param, error }) + DONE
  }

  #start(message: Message): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    this.#item = { id: itemId(message), index: 0, isOpen: false }
    const response = openBody(message, this.#model)
    return this.#event('response.created', { response })
  }

  #state(message: Message): string {
    if (message.state.kind === 'input_required') return this.#ask(message)
    const response = responseBody(message, this.#model)
    const type = response.status === 'queued' ? 'response.queued' : 'response.in_progress'
    return this.#event(type, { response })
  }

  #end(message: Message): string {
    const { state } = message
    if (state.kind === 'responded')
      return this.#finish(message, { type: 'response.completed', text: state.response })
    this.#isOver = true
    const response = responseBody(message, this.#model)
    return this.#close('incomplete') + this.#event('response.failed', { response }) + DONE
  }

  /** Ends the stream with the question. The answer comes in a later stream. */
  #ask(message: Message): string {
    const { itemId: id = '', text = '' } = questionOf(message) ?? {}
    if (this.#item && !this.#item.isOpen) this.#item = { ...this.#item, id }
    return this.#finish(message, { type: 'response.incomplete', text })
  }

  #finish(message: Message, { type, text }: { type: string; text: string }): string {
    this.#isOver = true
    const rest = this.#steps(this.#answer.finish(text)) + this.#open()
    const done = this.#close('completed')
    const item = outputItem(this.#item?.id ?? '', 'completed', text)
    const response = { ...responseBody(message, this.#model), output: [item] }
    return rest + done + this.#event(type, { response }) + DONE
  }

  #steps(steps: readonly TextStep[]): string {
    return steps
      .map((step) =>
        step.kind === 'restart'
          ? this.#close('incomplete')
          : this.#open() +
            this.#event('response.output_text.delta', {
              ...this.#place(),
              delta: step.delta,
              logprobs: [],
            }),
      )
      .join('')
  }

  #open(): string {
    const item = this.#item
    if (!item || item.isOpen) return ''
    this.#item = { ...item, isOpen: true }
    return (
      this.#event('response.output_item.added', {
        output_index: item.index,
        item: outputItem(item.id, 'in_progress'),
      }) + this.#event('response.content_part.added', { ...this.#place(), part: textPart('') })
    )
  }

  /** Ends the open item. The next item, if there is one, has the next index. */
  #close(status: 'completed' | 'incomplete'): string {
    const item = this.#item
    if (!item?.isOpen) return ''
    const { text } = this.#answer
    const place = this.#place()
    if (status === 'incomplete') {
      const index = item.index + 1
      const [prefix, message] = item.id.split('_')
      this.#item = { id: `${prefix}_${message}_${index}`, index, isOpen: false }
    }
    return (
      (status === 'completed'
        ? this.#event('response.output_text.done', { ...place, text, logprobs: [] }) +
          this.#event('response.content_part.done', { ...place, part: textPart(text) })
        : '') +
      this.#event('response.output_item.done', {
        output_index: item.index,
        item: outputItem(item.id, status, status === 'completed' ? text : undefined),
      })
    )
  }

  #place() {
    return { item_id: this.#item?.id ?? '', output_index: this.#item?.index ?? 0, content_index: 0 }
  }

  #event(type: string, fields: object): string {
    const data = { type, sequence_number: this.#sequence++, ...fields }
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
  }
}
