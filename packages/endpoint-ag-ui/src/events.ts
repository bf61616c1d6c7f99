import type { Message, StreamEvent } from '@org/agent-messaging-core'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { errorOf } from '@org/agent-messaging-core/host'
import { AnswerSteps, type AnswerStep, type AnswerWriter } from '@org/agent-messaging-http-kit'
import {
  contentOf,
  entityId,
  interruptOf,
  otherEvent,
  PROTOCOL_VERSION,
  resultId,
  sse,
} from './wire.js'

type Content = Exclude<StreamEvent, { kind: 'heartbeat' }>
type ToolEvent = Extract<PartEvent, { readonly toolCallId: string }>

/** A run as its client names it. */
export type RunIds = { readonly threadId: string; readonly runId: string }

type RunOptions = RunIds & {
  readonly message: Message
  /** Returns the event with the messages of the thread, up to the streamed one without its answer. */
  readonly snapshot: () => Promise<string>
  /** What follows the start of the run. */
  readonly first: string
  /** True if a message without an answer ends as cancelled: the client has withdrawn its question. */
  readonly isWithdrawn?: boolean | undefined
}

/** A tool call of the stream. Its result is one event, so that a preliminary result is not sent. */
type Call = { readonly id: string; isOpen: boolean; hasArgs: boolean; hasResult: boolean }

const INTERRUPTED = 'The stream ended before the answer. The agent continues: connect to the thread'

export const runStarted = ({ threadId, runId }: RunIds): string =>
  sse('RUN_STARTED', { threadId, runId, protocolVersion: PROTOCOL_VERSION })

export const runFinished = ({ threadId, runId }: RunIds, fields: object = {}): string =>
  sse('RUN_FINISHED', { threadId, runId, outcome: { type: 'success' }, ...fields })

/** Writes the events of one run. What an earlier attempt wrote ends with a new snapshot. */
export class RunEvents implements AnswerWriter {
  readonly #options: RunOptions
  readonly #answer = new AnswerSteps()
  #hasStarted = false
  #isOver = false
  /** Counts texts, reasonings and tool calls. */
  #place = 0
  /** The open text or reasoning. A reasoning has the id that the agent gave it. */
  #open: { readonly id: string; readonly reasoning: string | undefined } | undefined
  #calls = new Map<string, Call>()
  #step: string | undefined
  #steps = 0

  constructor(options: RunOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.#isOver
  }

  write(event: Content): string | Promise<string> {
    const start = this.#start()
    if (event.kind === 'state') return start + this.#ask(event.message)
    const isLast = event.kind === 'message'
    const steps = isLast ? this.#answer.finish(event.message) : this.#answer.take(event)
    const rest = () => this.#take(steps) + (isLast ? this.#end(event.message) : '')
    if (steps[0]?.kind !== 'restart') return start + rest()
    const ended = start + this.#closeAll()
    return this.#options.snapshot().then((snapshot) => ended + snapshot + rest())
  }

  interrupt(code: string): string {
    return this.#fail({ code, message: INTERRUPTED })
  }

  #fail({ code, message }: { readonly code: string; readonly message: string }): string {
    this.#isOver = true
    return this.#start() + this.#closeAll() + sse('RUN_ERROR', { code, message })
  }

  #start(): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    return runStarted(this.#options) + this.#options.first
  }

  /** A question ends the run. Its answer is another run. */
  #ask(message: Message): string {
    const interrupt = interruptOf(message)
    return interrupt
      ? this.#finish({ outcome: { type: 'interrupt', interrupts: [interrupt] } })
      : ''
  }

  #end(message: Message): string {
    const { state } = message
    if (state.kind === 'responded') {
      const { usage } = state
      return this.#results(message) + this.#finish(usage && { usage: [usage] })
    }
    const error = errorOf(state)
    if (state.kind !== 'cancelled' && !this.#options.isWithdrawn && error) return this.#fail(error)
    return this.#finish({ outcome: { type: 'cancelled' } })
  }

  #finish(fields?: object): string {
    this.#isOver = true
    return this.#closeAll() + runFinished(this.#options, fields)
  }

  /** The restart before the steps has its own events. */
  #take(steps: readonly AnswerStep[]): string {
    return steps
      .map((step) => {
        if (step.kind === 'restart') return ''
        return step.kind === 'text' ? this.#text(step.delta) : this.#part(step.part)
      })
      .join('')
  }

  #part(part: PartEvent): string {
    switch (part.type) {
      case 'text-delta':
        return this.#text(part.text)
      case 'reasoning-delta':
        return this.#reason(part.id, part.text)
      case 'start-step': {
        const { name: stepName = `step ${++this.#steps}` } = part
        const text = this.#close() + this.#endStep()
        this.#step = stepName
        return text + sse('STEP_STARTED', { stepName })
      }
      case 'finish-step':
        return this.#endStep()
      case 'data':
      case 'file':
      case 'source-url':
        return this.#close() + otherEvent(this.#options.message.id, part)
      default:
        return this.#tool(part)
    }
  }

  #text(delta: string): string {
    if (delta === '') return ''
    const isNew = !this.#open || this.#open.reasoning !== undefined
    const before = isNew ? this.#close() : ''
    const { id: messageId } = (this.#open ??= { id: this.#nextId(), reasoning: undefined })
    const start = isNew ? sse('TEXT_MESSAGE_START', { messageId, role: 'assistant' }) : ''
    return before + start + sse('TEXT_MESSAGE_CONTENT', { messageId, delta })
  }

  #reason(reasoning: string, delta: string): string {
    if (delta === '') return ''
    const isNew = this.#open?.reasoning !== reasoning
    const before = isNew ? this.#close() : ''
    const { id: messageId } = (this.#open ??= { id: this.#nextId(), reasoning })
    const start = isNew
      ? sse('REASONING_START', { messageId }) +
        sse('REASONING_MESSAGE_START', { messageId, role: 'reasoning' })
      : ''
    return before + start + sse('REASONING_MESSAGE_CONTENT', { messageId, delta })
  }

  #tool(event: ToolEvent): string {
    const { toolCallId } = event
    if ('toolName' in event && !this.#calls.has(toolCallId)) {
      const { toolName, title } = event
      const call = { id: this.#nextId(), isOpen: true, hasArgs: false, hasResult: false }
      this.#calls.set(toolCallId, call)
      return (
        this.#close() +
        sse('TOOL_CALL_START', {
          toolCallId: call.id,
          toolCallName: toolName,
          ...(title !== undefined && { metadata: { title } }),
        }) +
        this.#tool(event)
      )
    }
    const call = this.#calls.get(toolCallId)
    if (!call) return ''
    switch (event.type) {
      case 'tool-input-delta':
        return this.#args(call, event.inputTextDelta)
      case 'tool-input-available':
        return (call.hasArgs ? '' : this.#args(call, JSON.stringify(event.input))) + endCall(call)
      case 'tool-output-available':
        return event.preliminary ? endCall(call) : this.#result(call, contentOf(event.output))
      case 'tool-output-error':
        return this.#result(call, event.errorText)
      default:
        return ''
    }
  }

  #args(call: Call, delta: string): string {
    if (!call.isOpen || delta === '') return ''
    call.hasArgs = true
    return sse('TOOL_CALL_ARGS', { toolCallId: call.id, delta })
  }

  /** A client has one result for a call, and keeps each one that it gets. */
  #result(call: Call, content: string): string {
    if (call.hasResult) return ''
    call.hasResult = true
    const { id: toolCallId } = call
    const result = { messageId: resultId(toolCallId), toolCallId, role: 'tool', content }
    return endCall(call) + sse('TOOL_CALL_RESULT', result)
  }

  /** A client would execute a call that has no result. */
  #results({ parts }: Message): string {
    const outputs = new Map(
      (parts?.parts ?? []).flatMap((part) =>
        part.type === 'tool' ? [[part.toolCallId, contentOf(part.output ?? '')] as const] : [],
      ),
    )
    return [...this.#calls]
      .map(([toolCallId, call]) => this.#result(call, outputs.get(toolCallId) ?? ''))
      .join('')
  }

  #nextId(): string {
    return entityId(this.#options.message, this.#place++)
  }

  /** Ends the open text or reasoning. */
  #close(): string {
    const open = this.#open
    this.#open = undefined
    if (!open) return ''
    const { id: messageId, reasoning } = open
    if (reasoning === undefined) return sse('TEXT_MESSAGE_END', { messageId })
    return sse('REASONING_MESSAGE_END', { messageId }) + sse('REASONING_END', { messageId })
  }

  #endStep(): string {
    const stepName = this.#step
    this.#step = undefined
    return stepName === undefined ? '' : sse('STEP_FINISHED', { stepName })
  }

  /** Ends all that is open. */
  #closeAll(): string {
    const calls = [...this.#calls.values()].map(endCall).join('')
    this.#calls = new Map()
    return this.#close() + calls + this.#endStep()
  }
}

function endCall(call: Call): string {
  if (!call.isOpen) return ''
  call.isOpen = false
  return sse('TOOL_CALL_END', { toolCallId: call.id })
}
