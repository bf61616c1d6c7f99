import type { StreamResponse } from '@a2a-js/sdk'
import type { Message, StreamEvent } from '@org/agent-messaging-core'
import { AnswerSteps, type AnswerStep } from '@org/agent-messaging-http-kit'
import { artifactParts } from './artifact-parts.js'
import { answerArtifact, statusOf, taskOf, type TaskView } from './task.js'

/**
 * Turns the events of a message into events of its task. The first one is the task. An answer
 * that becomes void is replaced by an update of the artifact without `append`.
 */
export class AnswerEvents {
  readonly #view: TaskView
  #message: Message
  #hasStarted = false
  readonly #answer = new AnswerSteps()
  /** True if the reader has a beginning of the artifact that is not void. */
  #hasArtifact = false

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
      case 'part':
        return this.#update(this.#answer.take(event))
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
    const rest =
      isLast && state.kind === 'responded' ? this.#update(this.#answer.finish(message), true) : []
    const value = { ...this.#place(), status: statusOf(message) }
    return [...rest, { payload: { $case: 'statusUpdate', value } }]
  }

  /** Appends to the artifact that the reader has, or replaces one that became void. */
  #update(steps: readonly AnswerStep[], lastChunk = false): StreamResponse[] {
    if (steps.some(({ kind }) => kind === 'restart')) this.#hasArtifact = false
    const parts = artifactParts(steps)
    if (parts.length === 0 && !lastChunk) return []
    const append = this.#hasArtifact
    this.#hasArtifact = true
    const value = { ...this.#place(), artifact: answerArtifact(parts), append, lastChunk }
    return [{ payload: { $case: 'artifactUpdate', value } }]
  }

  #place() {
    const { id: taskId, sessionId: contextId } = this.#message
    return { taskId, contextId, metadata: undefined }
  }
}
