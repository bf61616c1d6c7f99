import {
  isSameQuestion,
  type AnsweredInput,
  type AskingRun,
} from '@org/agent-messaging-core/runtime'

type OpenQuestion = {
  readonly question: AskingRun
  resolve(value: AnsweredInput['value'] | undefined): void
}

/** Further questions of a turn that is asking get no answer. */
const MAX_OPEN = 100

/** The questions of one turn. Each recorded answer counts for one question. */
export class TurnQuestions {
  /** Answers of earlier runs that no question of this turn has used. */
  readonly #recorded: AnsweredInput[]
  readonly #open: OpenQuestion[] = []
  #isClosed = false
  #onAsked = (): void => undefined

  constructor(recorded: readonly AnsweredInput[] = []) {
    this.#recorded = [...recorded]
  }

  /** Resolves with the answer, or with undefined if the question has ended. */
  ask(question: AskingRun, signal: AbortSignal): Promise<AnsweredInput['value'] | undefined> {
    const place = this.#recorded.findIndex((input) => isSameQuestion(input, question))
    const [known] = place === -1 ? [] : this.#recorded.splice(place, 1)
    if (known) return Promise.resolve(known.value)
    if (this.#isClosed || signal.aborted || this.#open.length >= MAX_OPEN)
      return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const open = { question, resolve }
      this.#open.push(open)
      signal.addEventListener('abort', () => this.#end(open, undefined), { once: true })
      this.#onAsked()
    })
  }

  /** Resolves with the oldest open question. */
  next(): Promise<AskingRun> {
    return new Promise((resolve) => {
      this.#onAsked = () => {
        const [oldest] = this.#open
        if (oldest) resolve(oldest.question)
      }
      this.#onAsked()
    })
  }

  /** Answers the open question. Keeps the answer if the agent no longer waits for it. */
  give(input: AnsweredInput): void {
    const open = this.#open.find(({ question }) => isSameQuestion(input, question))
    if (open) this.#end(open, input.value)
    else this.#recorded.push(input)
  }

  /** Ends all questions without an answer. */
  close(): void {
    this.#isClosed = true
    for (const open of this.#open.splice(0)) open.resolve(undefined)
  }

  #end(open: OpenQuestion, value: AnsweredInput['value'] | undefined) {
    const place = this.#open.indexOf(open)
    if (place !== -1) this.#open.splice(place, 1)
    open.resolve(value)
  }
}
