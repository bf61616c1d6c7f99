import type { Message } from '@org/agent-messaging-core'
import { PART_LIMITS, toolPart, type PartEvent } from '@org/agent-messaging-core/runtime'
import {
  AnswerSteps,
  type AnswerStep,
  type AnswerWriter,
  type WrittenEvent,
} from '@org/agent-messaging-http-kit'
import { DONE, interruption } from '../event-stream.js'
import { itemId } from '../ids.js'
import { questionOf } from '../question.js'
import { openBody, responseBody } from './body.js'
import {
  callItem,
  outputOf,
  TEXT_ITEMS,
  textItem,
  textItemId,
  type TextKind,
  type ToolPart,
} from './items.js'

type Item = { readonly id: string; readonly index: number }
/** `key` tells two thoughts apart. `text` is the text of a thought. */
type OpenText = Item & { readonly kind: TextKind; readonly key: string; text: string }
type Call = Item & { part: ToolPart }
type CallEvent = Parameters<typeof toolPart>[0]

/**
 * Writes the events of the Responses API. Items that become void end as incomplete items, and the
 * next items have the answer. The response itself contains only the answer.
 */
export class ResponseEvents implements AnswerWriter {
  readonly #model: string
  readonly #answer = new AnswerSteps()
  #sequence = 0
  isOver = false
  /** The message, once the stream has started. */
  #message: Message | undefined
  /** The index of the next item, and of the first one that is not void. */
  #next = 0
  #first = 0
  readonly #texts = new Map<TextKind, OpenText>()
  /** The id of the next text, if it is a question. */
  #questionId: string | undefined
  /** Calls by their id. An ended call is undefined. */
  #calls = new Map<string, Call | undefined>()
  /** Characters of the values that the calls keep. */
  #keptLength = 0

  /** `model` is the agent's name. */
  constructor(model: string) {
    this.#model = model
  }

  write(event: WrittenEvent): string {
    switch (event.kind) {
      case 'state':
        return this.#start(event.message) + this.#state(event.message)
      case 'chunk':
      case 'part':
        return this.#steps(this.#answer.take(event))
      case 'message':
        return this.#start(event.message) + this.#finish(event.message)
    }
  }

  /** Open Responses has the fields in `error`, and OpenAI has them beside `type`. */
  interrupt(reason: string): string {
    const error = interruption(reason)
    const { code, message, param } = error
    this.isOver = true
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

  #finish(message: Message): string {
    this.isOver = true
    const body = responseBody(message, this.#model)
    if (message.state.kind !== 'responded')
      return this.#close() + this.#event('response.failed', { response: body }) + DONE
    const rest = this.#steps(this.#answer.finish(message)) + this.#endCalls()
    const done = this.#end('reasoning') + this.#begin('message') + this.#end('message')
    const response = { ...body, output: outputOf(message, this.#model, this.#first) }
    return rest + done + this.#event('response.completed', { response }) + DONE
  }

  /** Ends the stream with the question. The answer comes in a later stream. */
  #ask(message: Message): string {
    const { itemId: id = '', text = '' } = questionOf(message) ?? {}
    this.isOver = true
    this.#questionId = id
    const ended = this.#endCalls() + this.#end('reasoning', 'incomplete')
    const rest = this.#steps(this.#answer.complete(text)) + this.#begin('message')
    const output = [textItem('message', this.#texts.get('message')?.id ?? id, 'completed', text)]
    const done = this.#end('message')
    const response = { ...responseBody(message, this.#model), output }
    return ended + rest + done + this.#event('response.incomplete', { response }) + DONE
  }

  #steps(steps: readonly AnswerStep[]): string {
    return steps
      .map((step) => {
        if (step.kind === 'part') return this.#addPart(step.part)
        if (step.kind === 'text')
          return this.#end('reasoning') + this.#addText('message', step.delta)
        const closed = this.#close()
        this.#first = this.#next
        this.#calls = new Map()
        this.#keptLength = 0
        return closed
      })
      .join('')
  }

  #close(): string {
    const ended = this.#endCalls() + this.#end('reasoning', 'incomplete')
    return ended + this.#end('message', 'incomplete')
  }

  #addPart(part: PartEvent): string {
    switch (part.type) {
      case 'reasoning-delta':
        return this.#addText('reasoning', part.text, part.id)
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-output-available':
      case 'tool-output-error':
        return this.#addCall(part)
      case 'tool-input-delta':
        return ''
      default:
        return this.#end('reasoning')
    }
  }

  #addText(kind: TextKind, delta: string, key = ''): string {
    const { text = '' } = this.#texts.get('reasoning') ?? {}
    const isFull = text.length + delta.length > PART_LIMITS.partLength
    const begun = (isFull ? this.#end('reasoning') : '') + this.#begin(kind, key)
    const item = this.#texts.get(kind)
    if (!item) return begun
    if (kind === 'reasoning') item.text += delta
    return begun + this.#tell(item, 'text', 'delta', { delta })
  }

  /** Begins an item, unless it is open. */
  #begin(kind: TextKind, key = ''): string {
    const message = this.#message
    if (!message || this.#texts.get(kind)?.key === key) return ''
    const ended = this.#end('reasoning')
    const index = this.#next++
    const own = kind === 'message' ? this.#questionId : undefined
    const id = own ?? textItemId(message, kind, this.#first, index)
    const item = { id, index, kind, key, text: '' }
    this.#texts.set(kind, item)
    const added = this.#changed('added', item, textItem(kind, id, 'in_progress'))
    return ended + added + this.#tell(item, 'part', 'added', { part: TEXT_ITEMS[kind].partOf('') })
  }

  /** Ends the item, if it is open. */
  #end(kind: TextKind, status: 'completed' | 'incomplete' = 'completed'): string {
    const item = this.#texts.get(kind)
    if (!item) return ''
    this.#texts.delete(kind)
    const { id } = item
    if (status === 'incomplete') return this.#changed('done', item, textItem(kind, id, status))
    const text = kind === 'message' ? this.#answer.text : item.text
    return (
      this.#tell(item, 'text', 'done', { text }) +
      this.#tell(item, 'part', 'done', { part: TEXT_ITEMS[kind].partOf(text) }) +
      this.#changed('done', item, textItem(kind, id, status, text))
    )
  }

  /** Tells a change of the part of an item, or of its text. */
  #tell(item: OpenText, what: 'part' | 'text', change: string, fields: object): string {
    const { place, ...names } = TEXT_ITEMS[item.kind]
    const more = names[what] === 'output_text' ? { logprobs: [] } : {}
    const data = { ...placeOf(item), ...place, ...fields, ...more }
    return this.#event(`response.${names[what]}.${change}`, data)
  }

  #addCall(event: CallEvent): string {
    const { type, toolCallId } = event
    const isKnown = this.#calls.has(toolCallId)
    const part = toolPart(event, this.#calls.get(toolCallId)?.part)
    const begun = isKnown || !('toolName' in event) ? '' : this.#beginCall(part)
    const call = this.#calls.get(toolCallId)
    if (!call) return begun
    this.#keptLength += JSON.stringify(event).length
    if (this.#keptLength <= PART_LIMITS.totalLength) call.part = part
    if (type === 'tool-input-available') return begun + this.#tellInput(call, part)
    const isOver = !('toolName' in event) && !('preliminary' in event && event.preliminary)
    return begun + (isOver ? this.#endCall(call, part) : '')
  }

  #beginCall(part: ToolPart): string {
    const message = this.#message
    if (!message) return ''
    const ended = this.#end('reasoning')
    const index = this.#next++
    const item = { index, id: itemId(message, `_${index}`, 'mcp') }
    this.#calls.set(part.toolCallId, { ...item, part })
    const { input: _, ...call } = part
    const added = this.#changed('added', item, callItem(item.id, this.#model, call, 'in_progress'))
    return ended + added + this.#event('response.mcp_call.in_progress', placeOf(item))
  }

  #tellInput(call: Call, { input }: ToolPart): string {
    const place = placeOf(call)
    const text = JSON.stringify(input)
    return (
      this.#event('response.mcp_call_arguments.delta', { ...place, delta: text }) +
      this.#event('response.mcp_call_arguments.done', { ...place, arguments: text })
    )
  }

  #endCall(call: Call, part: ToolPart): string {
    this.#calls.set(part.toolCallId, undefined)
    const item = callItem(call.id, this.#model, part)
    const { status } = item
    const end =
      status === 'incomplete' ? '' : this.#event(`response.mcp_call.${status}`, placeOf(call))
    return end + this.#changed('done', call, item)
  }

  /** Ends the calls that are open. An answer can leave a call without a final output. */
  #endCalls(): string {
    const open = [...this.#calls.values()].filter((call) => call !== undefined)
    return open.map((call) => this.#endCall(call, call.part)).join('')
  }

  #changed(change: 'added' | 'done', { index }: Item, item: object): string {
    return this.#event(`response.output_item.${change}`, { output_index: index, item })
  }

  #event(type: string, fields: object): string {
    const data = { type, sequence_number: this.#sequence++, ...fields }
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
  }
}

const placeOf = ({ id, index }: Item) => ({ item_id: id, output_index: index })
