import type { StreamEvent } from '@org/agent-messaging-core'

type Chunk = Extract<StreamEvent, { kind: 'chunk' }>

/** A step of an answer. `restart` makes all text before it void. */
export type TextStep =
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'restart' }

/**
 * Turns the pieces of an answer into text that only grows. A later attempt, and a final answer that
 * does not start with the pieces before it, make a `restart`.
 */
export class AnswerText {
  #text = ''
  #attempt: number | undefined
  /** True after a lost piece: the rest comes with the final answer. */
  #hasGap = false

  get text(): string {
    return this.#text
  }

  take({ attempt, offset, text }: Chunk): TextStep[] {
    const steps = attempt === this.#attempt ? [] : this.#restart()
    this.#attempt = attempt
    if (offset !== this.#text.length) this.#hasGap = true
    if (this.#hasGap) return steps
    this.#text += text
    return [...steps, { kind: 'text', delta: text }]
  }

  /** Returns the steps that complete the final answer. */
  finish(answer: string): TextStep[] {
    const steps = answer.startsWith(this.#text) ? [] : this.#restart()
    const delta = answer.slice(this.#text.length)
    this.#text = answer
    return delta === '' ? steps : [...steps, { kind: 'text', delta }]
  }

  #restart(): TextStep[] {
    const isVoid = this.#text !== ''
    this.#text = ''
    this.#hasGap = false
    return isVoid ? [{ kind: 'restart' }] : []
  }
}
