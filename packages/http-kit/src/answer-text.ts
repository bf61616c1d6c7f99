import type { StreamEvent } from '@org/agent-messaging-core'
import { AnswerSteps, type AnswerStep, type TextStep } from './chat/answer-steps.js'

export type { TextStep } from './chat/answer-steps.js'

/** The steps of an answer for readers that get only its text. */
export class AnswerText {
  readonly #steps = new AnswerSteps()

  get text(): string {
    return this.#steps.text
  }

  take(chunk: Extract<StreamEvent, { kind: 'chunk' }>): TextStep[] {
    return this.#steps.take(chunk).filter(isTextStep)
  }

  /** Returns the steps that complete the final answer. */
  finish(answer: string): TextStep[] {
    return this.#steps.complete(answer).filter(isTextStep)
  }
}

const isTextStep = (step: AnswerStep): step is TextStep => step.kind !== 'part'
