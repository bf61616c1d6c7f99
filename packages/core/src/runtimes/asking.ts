import type { Json } from '../domain/values/json.js'
import {
  isSameQuestion,
  type AnsweredInput,
  type AskingRun,
} from '../domain/messages/message-input.js'
import { failedRun, type EndedRun } from '../domain/messages/run.js'

export type AskOptions = Omit<AskingRun, 'kind' | 'question'>

/**
 * Asks a person. The first call ends the run with an exception, and the message waits. After the
 * answer, the service calls the function again from its start, and the same call returns the
 * answer. So code before the call must be repeatable. The calls must come in the same order with
 * the same questions.
 */
export type Ask = <Value extends Json = string>(
  question: string,
  options?: AskOptions,
) => Promise<Value>

/** Ends the function. Do not catch it. */
class RunEndsHere extends Error {
  override readonly name = 'RunEndsHere'
}

/** The questions of one run: first the answered ones, then a new one. */
export class Asking {
  readonly #answered: readonly AnsweredInput[]
  #next = 0
  #end: EndedRun | undefined

  constructor(answered: readonly AnsweredInput[] = []) {
    this.#answered = answered
  }

  /** The outcome of the run, if a question has ended it. The function cannot change it. */
  get end(): EndedRun | undefined {
    return this.#end
  }

  readonly ask = async (question: string, options: AskOptions = {}): Promise<Json> => {
    if (this.#end) throw new RunEndsHere('the run has ended with a question')
    const asked: AskingRun = { ...options, kind: 'input_required', question }
    const earlier = this.#answered[this.#next++]
    if (earlier && isSameQuestion(earlier, asked)) return earlier.value
    this.#end = earlier ? mismatch(this.#next) : asked
    throw new RunEndsHere('the run ends with a question to a person')
  }
}

const mismatch = (place: number): EndedRun =>
  failedRun(
    'INPUT_MISMATCH',
    `question ${place} of this run differs from question ${place} that was answered`,
  )
