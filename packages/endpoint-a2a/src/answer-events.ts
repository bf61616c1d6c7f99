import type { StreamResponse, TaskArtifactUpdateEvent } from '@a2a-js/sdk'
import type { Message, StreamEvent } from '@org/agent-messaging-core'
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
  #attempt: number | undefined
  /** The text of the artifact that the reader has. */
  #text = ''
  /** True after a lost piece: the rest comes with the final answer. */
  #hasGap = false

  constructor(message: Message, view: TaskView) {
    this.#message = message
    this.#view = view
  }

  /** Returns no, one or several events. */
  of(event: StreamEvent): StreamResponse[] {
    switch (event.kind) {
      case 'heartbeat':
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

  #take({ attempt, offset, text }: Chunk): StreamResponse[] {
    // The first piece of an attempt replaces the text of the attempt before.
    const append = attempt === this.#attempt && this.#text !== ''
    if (attempt !== this.#attempt) {
      this.#text = ''
      this.#hasGap = false
    }
    this.#attempt = attempt
    if (offset !== this.#text.length) this.#hasGap = true
    if (this.#hasGap) return []
    this.#text += text
    return [this.#update(text, { append, lastChunk: false })]
  }

  #finish(answer: string): StreamResponse[] {
    const append = this.#text !== '' && answer.startsWith(this.#text)
    const rest = append ? answer.slice(this.#text.length) : answer
    return [this.#update(rest, { append, lastChunk: true })]
  }

  #update(
    text: string,
    flags: Pick<TaskArtifactUpdateEvent, 'append' | 'lastChunk'>,
  ): StreamResponse {
    const { append, lastChunk } = flags
    const value = { ...this.#place(), artifact: answerArtifact(text), append, lastChunk }
    return { payload: { $case: 'artifactUpdate', value } }
  }

  #place() {
    const { id: taskId, sessionId: contextId } = this.#message
    return { taskId, contextId, metadata: undefined }
  }
}
