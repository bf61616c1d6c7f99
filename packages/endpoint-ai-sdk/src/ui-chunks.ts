import type { Message } from '@org/agent-messaging-core'
import { errorOf } from '@org/agent-messaging-core/host'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { openInput } from '@org/agent-messaging-core/storage'
import {
  AnswerSteps,
  type AnswerStep,
  type AnswerWriter,
  type WrittenEvent,
} from '@org/agent-messaging-http-kit'
import { questionsOf, uiPart, type UiPart } from './ui-messages.js'

const DONE = 'data: [DONE]\n\n'

/** Chunks beside which text goes on: they change a part that the reader has. */
const BESIDE: readonly string[] = ['tool-input-delta', 'tool-output-available', 'tool-output-error']

/**
 * Writes the chunks of a UI message stream that AI SDK 6 and 7 have in common. Chunks cannot be
 * taken back, so the stream ends if the agent starts again.
 */
export class UiChunks implements AnswerWriter {
  readonly #steps = new AnswerSteps()
  #hasStarted = false
  isOver = false
  #block:
    | { readonly type: 'text' | 'reasoning'; readonly of: string; readonly id: string }
    | undefined
  #blocks = 0

  write(event: WrittenEvent): string {
    if (event.kind === 'chunk' || event.kind === 'part') return this.#all(this.#steps.take(event))
    const { message } = event
    const start = this.#start(message)
    if (openInput(message))
      return (
        start + this.#end(questionsOf(message).slice(-1), { type: 'finish', finishReason: 'other' })
      )
    return event.kind === 'state' ? start : start + this.#finish(message)
  }

  interrupt(code: string): string {
    return this.isOver ? '' : this.#end([], { type: 'error', errorText: code })
  }

  #start(message: Message): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    const answered = questionsOf(message).slice(0, openInput(message) ? -1 : undefined)
    return textOf([{ type: 'start', messageId: message.id }, ...answered])
  }

  #finish(message: Message): string {
    const { state } = message
    const error = errorOf(state)
    if (state.kind === 'cancelled') return this.#end([], { type: 'abort', reason: error?.code })
    if (error) return this.#end([], { type: 'error', errorText: `${error.code}: ${error.message}` })
    const rest = this.#all(this.#steps.finish(message))
    return this.isOver ? rest : rest + this.#end([], { type: 'finish', finishReason: 'stop' })
  }

  #end(chunks: readonly UiPart[], last: UiPart): string {
    this.isOver = true
    return textOf([...this.#close(), ...chunks, last]) + DONE
  }

  #all(steps: readonly AnswerStep[]): string {
    let text = ''
    for (const step of steps) {
      if (step.kind === 'restart') return text + this.interrupt('ANSWER_SUPERSEDED')
      text += textOf(
        step.kind === 'text' ? this.#delta('text', '', step.delta) : this.#part(step.part),
      )
    }
    return text
  }

  #part(part: PartEvent): UiPart[] {
    if (part.type === 'reasoning-delta') return this.#delta('reasoning', part.id, part.text)
    return [...(BESIDE.includes(part.type) ? [] : this.#close()), chunkOf(part)]
  }

  #delta(type: 'text' | 'reasoning', of: string, delta: string): UiPart[] {
    const isOpen = this.#block?.type === type && this.#block.of === of
    const before = isOpen ? [] : this.#close()
    this.#block = isOpen ? this.#block : { type, of, id: `${type}-${++this.#blocks}` }
    const { id = '' } = this.#block ?? {}
    const start = isOpen ? [] : [{ type: `${type}-start`, id }]
    return [...before, ...start, { type: `${type}-delta`, id, delta }]
  }

  #close(): UiPart[] {
    const { type, id } = this.#block ?? {}
    this.#block = undefined
    return type ? [{ type: `${type}-end`, id }] : []
  }
}

function chunkOf(part: PartEvent): UiPart {
  if ('toolCallId' in part) return { ...part, dynamic: true, providerExecuted: true }
  const { type } = part
  return type === 'data' || type === 'file' || type === 'source-url' ? uiPart(part) : { type }
}

const textOf = (chunks: readonly UiPart[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
