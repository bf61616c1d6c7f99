import type { StreamResponse } from '@a2a-js/sdk'
import type { Message, StreamEvent } from '@org/agent-messaging-core'
import { AnswerText, type TextStep } from '@org/agent-messaging-http-kit'
import { answerArtifact, statusOf, taskOf, type TaskView } from './task.js'

type Chunk = Extract<StreamEvent, { kind: 'chunk' }>

/**
 * Turns the events of a message into events of its task. The first one is the task. A text that
 * becomes void is replaced by an update of the artifact without `append`.
 */
export class AnswerEvents {
  readonly #view: TaskView
  #message: Message
  #hasStarted = false
  /** The text of the artifact that the reader has. */
  readonly #answer = new AnswerText()

  constructor(message: Message, view: TaskView) {
    this.#message = message
    this.#view = view
  }

  /** Returns no, one or several events. */
  of(event: StreamEvent): StreamResponse[] {
    switch (event.kind) {
      case 'heartbeat':
      case 'part':
        return []
      case 'chunk':
        return this.#take(event)
      case 'state':
      case 'message':
        return this.#see(event.message, event.kind === 'message')
    }
  }

  #see(message: Message, isLast: boolean): StreamResponse[] {
    this.#message = message
    if (!this.#hasStarted) {
      this.#hasStarted = true
      return [{ payload: { $case: 'task', value: taskOf(message, this.#view) } }]
    }
    const { state } = message
    const rest = isLast && state.kind === 'responded' ? this.#finish(state.response) : []
    const value = { ...this.#place(), status: statusOf(message) }
    return [...rest, { payload: { $case: 'statusUpdate', value } }]
  }

  #take(chunk: Chunk): StreamResponse[] {
    const hadText = this.#answer.text !== ''
    const steps = this.#answer.take(chunk)
    return steps.some(({ kind }) => kind === 'text') ? [this.#update(steps, hadText)] : []
  }

  #finish(answer: string): StreamResponse[] {
    const hadText = this.#answer.text !== ''
    return [this.#update(this.#answer.finish(answer), hadText, true)]
  }

  /** Appends to the text that the reader has, or replaces it if it became void. */
  #update(steps: readonly TextStep[], hadText: boolean, lastChunk = false): StreamResponse {
    const append = hadText && !steps.some(({ kind }) => kind === 'restart')
    const text = steps.map((step) => (step.kind === 'text' ? step.delta : '')).join('')
    const value = { ...this.#place(), artifact: answerArtifact(text), append, lastChunk }
    return { payload: { $case: 'artifactUpdate', value } }
  }

  #place() {
    const { id: taskId, sessionId: contextId } = this.#message
    return { taskId, contextId, metadata: undefined }
  }
}
