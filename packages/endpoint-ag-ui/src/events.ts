import type { Message } from '@org/agent-messaging-core'
import { errorOf } from '@org/agent-messaging-core/host'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { openInput } from '@org/agent-messaging-core/storage'
import { AnswerSteps, type AnswerWriter, type WrittenEvent } from '@org/agent-messaging-http-kit'
import { entityId, otherEvent, outputText, resultId, sse } from './snapshot.js'

type ToolEvent = Extract<PartEvent, { readonly toolCallId: string }>

/** A run as its client names it. */
type RunIds = { readonly threadId: string; readonly runId: string }

export type Run = RunIds & {
  readonly message: Message
  /** What follows the start of the run. */
  readonly first: string
  /** Returns the event with the messages of the thread up to this one, without its answer. */
  readonly snapshot: () => Promise<string>
  /** True if the client has withdrawn the question: a failure then ends the run as cancelled. */
  readonly isWithdrawn?: boolean
}

type Call = { readonly toolCallId: string; hasArgs?: boolean; hasResult?: boolean }

/** What can be open besides tool calls: a text or reasoning, and a step. */
const MESSAGE = 'message'
const STEP = 'step'

const INTERRUPTED = 'The stream ended before the answer. The agent continues: connect to the thread'

export const runStarted = ({ threadId, runId }: RunIds): string =>
  sse('RUN_STARTED', { threadId, runId, protocolVersion: '1.0' })

export const runFinished = (
  { threadId, runId }: RunIds,
  outcome: object = { type: 'success' },
  usage?: object[],
): string => sse('RUN_FINISHED', { threadId, runId, outcome, usage })

/** Writes the events of one run. What an earlier attempt wrote ends with a new snapshot. */
export class RunEvents implements AnswerWriter {
  isOver = false
  readonly #run: Run
  readonly #answer = new AnswerSteps()
  /** The events that end what is open. */
  readonly #open = new Map<string, string>()
  /** By the ids that the agent gave them. */
  readonly #calls = new Map<string, Call>()
  /** Events that are not written yet. */
  #text: string
  /** Counts texts, reasonings and tool calls. */
  #place = 0
  /** The last text or reasoning. */
  #said = { as: '', messageId: '' }

  constructor(run: Run) {
    this.#run = run
    this.#text = runStarted(run) + run.first
  }

  write(event: WrittenEvent): string | Promise<string> {
    if (event.kind === 'state') return this.#ask(event.message)
    const isLast = event.kind === 'message'
    const steps = isLast ? this.#answer.finish(event.message) : this.#answer.take(event)
    const rest = () => {
      for (const step of steps)
        if (step.kind === 'text') this.#say('TEXT', '', step.delta)
        else if (step.kind === 'part') this.#part(step.part)
      return isLast ? this.#last(event.message) : this.#taken()
    }
    if (steps[0]?.kind !== 'restart') return rest()
    this.#endAll()
    return this.#run.snapshot().then((snapshot) => {
      this.#text += snapshot
      return rest()
    })
  }

  interrupt(code: string): string {
    return this.#finish(sse('RUN_ERROR', { code, message: INTERRUPTED }))
  }

  #taken(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  #finish(last: string): string {
    this.isOver = true
    this.#endAll()
    return this.#taken() + last
  }

  /** A question ends the run. Its answer is another run. */
  #ask(message: Message): string {
    const input = openInput(message)
    const { id: messageId, state } = message
    if (!input || state.kind !== 'input_required') return this.#taken()
    const { id, question, options, schema } = input
    const interrupt = {
      id,
      reason: 'input_required',
      message: question,
      responseSchema: schema ?? { type: 'string', enum: options },
      expiresAt: new Date(state.deadlineAt).toISOString(),
      metadata: { messageId },
    }
    return this.#finish(runFinished(this.#run, { type: 'interrupt', interrupts: [interrupt] }))
  }

  #last({ state, parts }: Message): string {
    if (state.kind === 'responded') {
      // A client would execute a call that has no result.
      for (const part of parts?.parts ?? [])
        if (part.type === 'tool') this.#addResult(part.toolCallId, outputText(part.output ?? ''))
      for (const key of this.#calls.keys()) this.#addResult(key, '')
      return this.#finish(runFinished(this.#run, undefined, state.usage && [state.usage]))
    }
    const isFailed = state.kind === 'failed' && !this.#run.isWithdrawn
    return this.#finish(
      isFailed
        ? sse('RUN_ERROR', { ...errorOf(state) })
        : runFinished(this.#run, { type: 'cancelled' }),
    )
  }

  #part(part: PartEvent): void {
    if (part.type === 'text-delta') return this.#say('TEXT', '', part.text)
    if (part.type === 'reasoning-delta') return this.#say('REASONING', part.id, part.text)
    if (part.type === 'finish-step') return this.#end(STEP)
    if ('toolCallId' in part) return this.#tool(part)
    this.#end(MESSAGE)
    if (part.type !== 'start-step') {
      this.#text += otherEvent(this.#run.message, part)
      return
    }
    const step = { stepName: part.name ?? STEP }
    this.#end(STEP)
    this.#start(STEP, sse('STEP_STARTED', step), sse('STEP_FINISHED', step))
  }

  #say(kind: 'TEXT' | 'REASONING', key: string, delta: string): void {
    const as = kind + key
    if (delta === '') return
    if (this.#said.as !== as || !this.#open.has(MESSAGE)) {
      this.#end(MESSAGE)
      const messageId = this.#nextId()
      const span = (end: string) => (kind === 'TEXT' ? '' : sse(`REASONING_${end}`, { messageId }))
      const role = kind === 'TEXT' ? 'assistant' : 'reasoning'
      this.#said = { as, messageId }
      this.#start(
        MESSAGE,
        span('START') + sse(`${kind}_MESSAGE_START`, { messageId, role }),
        sse(`${kind}_MESSAGE_END`, { messageId }) + span('END'),
      )
    }
    const { messageId } = this.#said
    this.#text += sse(`${kind}_MESSAGE_CONTENT`, { messageId, delta })
  }

  #tool(event: ToolEvent): void {
    const { type, toolCallId: key } = event
    if ('toolName' in event && !this.#calls.has(key)) this.#call(event)
    const call = this.#calls.get(key)
    if (!call) return
    if (type === 'tool-input-delta') this.#addArgs(call, event.inputTextDelta)
    if (type === 'tool-input-available') {
      if (!call.hasArgs) this.#addArgs(call, JSON.stringify(event.input))
      this.#end(call.toolCallId)
    }
    if (type === 'tool-output-error') this.#addResult(key, event.errorText)
    if (type === 'tool-output-available' && !event.preliminary)
      this.#addResult(key, outputText(event.output))
  }

  #call({
    toolCallId: key,
    toolName: toolCallName,
    title,
  }: Extract<ToolEvent, { toolName: string }>) {
    this.#end(MESSAGE)
    const toolCallId = this.#nextId()
    const start = { toolCallId, toolCallName, metadata: { title } }
    this.#calls.set(key, { toolCallId })
    this.#start(toolCallId, sse('TOOL_CALL_START', start), sse('TOOL_CALL_END', { toolCallId }))
  }

  #addArgs(call: Call, delta: string): void {
    const { toolCallId } = call
    if (delta === '' || !this.#open.has(toolCallId)) return
    call.hasArgs = true
    this.#text += sse('TOOL_CALL_ARGS', { toolCallId, delta })
  }

  /** A client keeps each result that it gets, so a call has one. */
  #addResult(key: string, content: string): void {
    const call = this.#calls.get(key)
    if (!call || call.hasResult) return
    const { toolCallId } = call
    const messageId = resultId(toolCallId)
    this.#end(toolCallId)
    call.hasResult = true
    this.#text += sse('TOOL_CALL_RESULT', { messageId, toolCallId, role: 'tool', content })
  }

  #nextId(): string {
    return entityId(this.#run.message, this.#place++)
  }

  #start(key: string, start: string, end: string): void {
    this.#text += start
    this.#open.set(key, end)
  }

  #end(key: string): void {
    this.#text += this.#open.get(key) ?? ''
    this.#open.delete(key)
  }

  #endAll(): void {
    for (const key of this.#open.keys()) this.#end(key)
    this.#calls.clear()
  }
}
