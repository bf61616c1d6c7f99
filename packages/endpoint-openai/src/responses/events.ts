import type { Json, Message, StreamEvent } from '@org/agent-messaging-core'
import { PART_LIMITS, type PartEvent } from '@org/agent-messaging-core/runtime'
import { AnswerSteps, type AnswerStep } from '@org/agent-messaging-http-kit'
import type { errorObject } from '../errors.js'
import { DONE, type StreamWriter } from '../event-stream.js'
import { itemId } from '../ids.js'
import { questionOf } from '../question.js'
import { openBody, responseBody } from './body.js'
import {
  CALL_STATUSES,
  callItem,
  messageItem,
  outputOf,
  reasoningItem,
  summaryPart,
  textItemId,
  textPart,
  type OutputItem,
  type ToolPart,
} from './items.js'

type Content = Exclude<StreamEvent, { kind: 'heartbeat' }>
type Item = { readonly id: string; readonly index: number }
type Reasoning = Item & { readonly key: string; text: string }
type Call = Item & { part: ToolPart }
type ToolEvent = Extract<PartEvent, { toolCallId: string }>

/**
 * Writes the events of the Responses API. Items that become void end as incomplete items, and the
 * next items have the answer. The response itself contains only the answer.
 */
export class ResponseEvents implements StreamWriter {
  readonly #model: string
  readonly #answer = new AnswerSteps()
  #sequence = 0
  #isOver = false
  /** The message, once the stream has started. */
  #message: Message | undefined
  /** The index of the next item, and of the first one that is not void. */
  #next = 0
  #first = 0
  #text: Item | undefined
  /** The id of the next text, if it is a question. */
  #questionId: string | undefined
  #reasoning: Reasoning | undefined
  /** Calls by their id. An ended call is undefined. */
  #calls = new Map<string, Call | undefined>()
  /** Characters of the inputs that the calls keep. */
  #keptLength = 0

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
      case 'part':
        return this.#steps(this.#answer.take(event))
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
    if (this.#message) return ''
    this.#message = message
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
    this.#isOver = true
    const body = responseBody(message, this.#model)
    if (state.kind !== 'responded')
      return this.#close() + this.#event('response.failed', { response: body }) + DONE
    const rest = this.#steps(this.#answer.finish(message)) + this.#endCalls()
    const done = this.#endReasoning('completed') + this.#openText() + this.#endText('completed')
    const response = { ...body, output: outputOf(message, this.#model, this.#first) }
    return rest + done + this.#event('response.completed', { response }) + DONE
  }

  /** Ends the stream with the question. The answer comes in a later stream. */
  #ask(message: Message): string {
    const { itemId: id = '', text = '' } = questionOf(message) ?? {}
    this.#isOver = true
    this.#questionId = id
    const ended = this.#endCalls() + this.#endReasoning('incomplete')
    const rest = this.#steps(this.#answer.complete(text)) + this.#openText()
    const output = [messageItem(this.#text?.id ?? id, 'completed', text)]
    const done = this.#endText('completed')
    const response = { ...responseBody(message, this.#model), output }
    return ended + rest + done + this.#event('response.incomplete', { response }) + DONE
  }

  #steps(steps: readonly AnswerStep[]): string {
    return steps
      .map((step) => {
        if (step.kind === 'restart') return this.#restart()
        return step.kind === 'text' ? this.#addText(step.delta) : this.#addPart(step.part)
      })
      .join('')
  }

  #restart(): string {
    const closed = this.#close()
    this.#first = this.#next
    this.#calls = new Map()
    this.#keptLength = 0
    return closed
  }

  #close(): string {
    return this.#endCalls() + this.#endReasoning('incomplete') + this.#endText('incomplete')
  }

  #addText(delta: string): string {
    const opened = this.#endReasoning('completed') + this.#openText()
    const place = { ...placeOf(this.#text), content_index: 0 }
    return opened + this.#event('response.output_text.delta', { ...place, delta, logprobs: [] })
  }

  #openText(): string {
    if (this.#text || !this.#message) return ''
    const index = this.#next++
    const id = this.#questionId ?? textItemId(this.#message, this.#first, index)
    this.#text = { index, id }
    const place = { ...placeOf(this.#text), content_index: 0 }
    return (
      this.#added(index, messageItem(id, 'in_progress')) +
      this.#event('response.content_part.added', { ...place, part: textPart('') })
    )
  }

  #endText(status: 'completed' | 'incomplete'): string {
    const item = this.#text
    if (!item) return ''
    this.#text = undefined
    const { text } = this.#answer
    if (status === 'incomplete') return this.#done(item.index, messageItem(item.id, status))
    const place = { ...placeOf(item), content_index: 0 }
    return (
      this.#event('response.output_text.done', { ...place, text, logprobs: [] }) +
      this.#event('response.content_part.done', { ...place, part: textPart(text) }) +
      this.#done(item.index, messageItem(item.id, status, text))
    )
  }

  #addPart(part: PartEvent): string {
    switch (part.type) {
      case 'reasoning-delta':
        return this.#addReasoning(part.id, part.text)
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-output-available':
      case 'tool-output-error':
        return this.#addCall(part)
      case 'tool-input-delta':
        return ''
      default:
        return this.#endReasoning('completed')
    }
  }

  #addReasoning(key: string, delta: string): string {
    const { text = '', key: openKey } = this.#reasoning ?? {}
    const fits = openKey === key && text.length + delta.length <= PART_LIMITS.partLength
    const opened = fits ? '' : this.#endReasoning('completed') + this.#openReasoning(key)
    if (this.#reasoning) this.#reasoning.text += delta
    const place = { ...placeOf(this.#reasoning), summary_index: 0 }
    return opened + this.#event('response.reasoning_summary_text.delta', { ...place, delta })
  }

  #openReasoning(key: string): string {
    const item = { ...this.#newItem('rs'), key, text: '' }
    this.#reasoning = item
    const place = { ...placeOf(item), summary_index: 0 }
    return (
      this.#added(item.index, reasoningItem(item.id, 'in_progress')) +
      this.#event('response.reasoning_summary_part.added', { ...place, part: summaryPart('') })
    )
  }

  #endReasoning(status: 'completed' | 'incomplete'): string {
    const item = this.#reasoning
    if (!item) return ''
    this.#reasoning = undefined
    const { text } = item
    const place = { ...placeOf(item), summary_index: 0 }
    return (
      this.#event('response.reasoning_summary_text.done', { ...place, text }) +
      this.#event('response.reasoning_summary_part.done', { ...place, part: summaryPart(text) }) +
      this.#done(item.index, reasoningItem(item.id, status, text))
    )
  }

  #addCall(event: Exclude<ToolEvent, { type: 'tool-input-delta' }>): string {
    const { toolCallId } = event
    const isNew = 'toolName' in event && !this.#calls.has(toolCallId)
    const opened = isNew ? this.#openCall(event) : ''
    const call = this.#calls.get(toolCallId)
    if (!call) return opened
    switch (event.type) {
      case 'tool-input-start':
        return opened
      case 'tool-input-available':
        return opened + this.#setInput(call, event.input)
      case 'tool-output-available':
        call.part = { ...call.part, state: 'output-available' }
        return event.preliminary ? '' : this.#endCall(call, { output: event.output })
      case 'tool-output-error':
        call.part = { ...call.part, state: 'output-error' }
        return this.#endCall(call, { errorText: event.errorText })
    }
  }

  #openCall({ toolCallId, toolName }: { toolCallId: string; toolName: string }): string {
    const closed = this.#endReasoning('completed')
    const item = this.#newItem('mcp')
    const part = { type: 'tool', toolCallId, toolName, state: 'input-streaming' } as const
    this.#calls.set(toolCallId, { ...item, part })
    return (
      closed +
      this.#added(item.index, callItem(item.id, this.#model, part, 'in_progress')) +
      this.#event('response.mcp_call.in_progress', placeOf(item))
    )
  }

  #setInput(call: Call, input: Json): string {
    const text = JSON.stringify(input)
    this.#keptLength += text.length
    const isKept = this.#keptLength <= PART_LIMITS.totalLength
    call.part = { ...call.part, state: 'input-available', ...(isKept && { input }) }
    const place = placeOf(call)
    return (
      this.#event('response.mcp_call_arguments.delta', { ...place, delta: text }) +
      this.#event('response.mcp_call_arguments.done', { ...place, arguments: text })
    )
  }

  #endCall(call: Call, result: Pick<ToolPart, 'errorText' | 'output'> = {}): string {
    const part = { ...call.part, ...result }
    const status = CALL_STATUSES[part.state]
    this.#calls.set(part.toolCallId, undefined)
    const type = status === 'completed' ? 'completed' : 'failed'
    return (
      (status === 'incomplete' ? '' : this.#event(`response.mcp_call.${type}`, placeOf(call))) +
      this.#done(call.index, callItem(call.id, this.#model, part, status))
    )
  }

  /** Ends the calls that are open. An answer can leave a call without a final output. */
  #endCalls(): string {
    return [...this.#calls.values()].map((call) => (call ? this.#endCall(call) : '')).join('')
  }

  #newItem(prefix: 'mcp' | 'rs'): Item {
    const index = this.#next++
    return { index, id: this.#message ? itemId(this.#message, `_${index}`, prefix) : '' }
  }

  #added(index: number, item: OutputItem): string {
    return this.#event('response.output_item.added', { output_index: index, item })
  }

  #done(index: number, item: OutputItem): string {
    return this.#event('response.output_item.done', { output_index: index, item })
  }

  #event(type: string, fields: object): string {
    const data = { type, sequence_number: this.#sequence++, ...fields }
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
  }
}

const placeOf = (item: Item | undefined) => ({
  item_id: item?.id ?? '',
  output_index: item?.index ?? 0,
})
