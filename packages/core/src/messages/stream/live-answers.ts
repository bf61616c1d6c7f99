import { ShortLivedMap } from '../../domain/values/short-lived-map.js'
import type { StreamPolicy } from '../../policy.js'
import { LiveAnswer } from './live-answer.js'

/** After a cut the logs have this share of the bound, so cuts are rare. */
const SHARE_AFTER_CUT = 0.75

/**
 * The logs of this process, by message id. All logs together have a bound: the oldest part of the
 * longest logs goes first.
 */
export class LiveAnswers {
  readonly #policy: Pick<StreamPolicy, 'bufferLength' | 'totalBufferLength'>
  readonly #answers = new ShortLivedMap<string, LiveAnswer>()
  #length = 0

  constructor(policy: Pick<StreamPolicy, 'bufferLength' | 'totalBufferLength'>) {
    this.#policy = policy
  }

  /** The number of kept units of all logs. */
  get length(): number {
    return this.#length
  }

  /** Begins the log of an attempt. It replaces the log of the message's earlier attempt. */
  begin(messageId: string): LiveAnswer {
    const answer: LiveAnswer = new LiveAnswer(this.#policy.bufferLength, (change) => {
      if (this.#answers.get(messageId) === answer) this.#count(change)
    })
    this.forget(messageId)
    this.#answers.set(messageId, answer)
    return answer
  }

  /** Does not count the log any more. Its last readers can still read it. */
  forget(messageId: string): void {
    this.#length -= this.#answers.get(messageId)?.length ?? 0
    this.#answers.delete(messageId)
  }

  #count(change: number): void {
    this.#length += change
    const { totalBufferLength } = this.#policy
    if (change < 0 || this.#length <= totalBufferLength) return
    const longestFirst = [...this.#answers.values()].sort((a, b) => b.length - a.length)
    for (const answer of longestFirst) {
      if (this.#length <= SHARE_AFTER_CUT * totalBufferLength) return
      answer.shorten(Math.floor(answer.length / 2))
    }
  }
}
