import type { ChunkQuestion, RelayedChunk } from '../../ports/chunk-relay.js'
import type { LiveAnswer } from './live-answer.js'

/** The effect of a piece from another process: none, more text, a new run, or a gap. */
export type Taken = 'nothing' | 'added' | 'began' | 'gap'

/** The answer of a message's latest run at another process, for all readers of this process. */
export class IncomingAnswer {
  readonly #messageId: string
  readonly #newAnswer: () => LiveAnswer
  answer: LiveAnswer
  attempt = 0
  #startedAt = -Infinity
  /** The end of the text at the last request. */
  #endWhenAsked = -1
  isComplete = false

  constructor(messageId: string, newAnswer: () => LiveAnswer) {
    this.#messageId = messageId
    this.#newAnswer = newAnswer
    this.answer = newAnswer()
  }

  /** Requests missing pieces if none has arrived since the last request. */
  question(isBehind = this.answer.end === this.#endWhenAsked): ChunkQuestion {
    const offset = this.answer.end
    const isFirst = this.#endWhenAsked < 0
    this.#endWhenAsked = offset
    const startedAt = Math.max(this.#startedAt, 0)
    return {
      kind: 'question',
      messageId: this.#messageId,
      have: { startedAt, attempt: this.attempt, offset },
      isBehind: isFirst || (isBehind && !this.isComplete),
    }
  }

  take(chunk: RelayedChunk): Taken {
    if (this.#isOlder(chunk)) return 'nothing'
    const isNew = chunk.startedAt !== this.#startedAt || chunk.attempt !== this.attempt
    if (isNew) this.#begin(chunk)
    const { end } = this.answer
    if (chunk.offset > end && chunk.start.offset > end) this.answer.skipTo(chunk.start)
    if (chunk.offset > this.answer.end) return isNew ? 'began' : 'gap'
    const text = chunk.text.slice(this.answer.end - chunk.offset)
    this.answer.append(text)
    if (chunk.isLast) this.isComplete = true
    if (isNew) return 'began'
    return text === '' && !chunk.isLast ? 'nothing' : 'added'
  }

  #isOlder({ startedAt, attempt }: RelayedChunk): boolean {
    return startedAt < this.#startedAt || (startedAt === this.#startedAt && attempt < this.attempt)
  }

  #begin({ startedAt, attempt }: RelayedChunk): void {
    this.answer = this.#newAnswer()
    this.attempt = attempt
    this.#startedAt = startedAt
    this.isComplete = false
  }
}
