import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerStream, Message, MessagingService } from '@org/agent-messaging-core'

/** A message that has changed, or a longer part of its answer. */
export type LiveTurn = { readonly message: Message; readonly partial?: string }

type LiveSessionOptions = {
  readonly service: MessagingService
  readonly projectId: string
  /** The agent's id. */
  readonly agent: string
  readonly sessionId: string
  /** The versions that the reader shows, by message id. */
  readonly known: ReadonlyMap<string, string>
}

/** The version of a message on a page. Another version looks different. */
/** A second question has the same state and possibly the same attempt as the first one. */
export const versionOf = ({ state, attempt, inputs = [] }: Message): string =>
  `${state.kind}.${attempt}${inputs.length === 0 ? '' : `.${inputs.length}`}`

const POLL_MS = 500
/** After this time the browser connects again, which checks its session. */
const LIFETIME_MS = 10_000
/** The first look reads a page of messages. Later looks read the newest ones. */
const FIRST_LOOK = 50
const NEXT_LOOK = 5
/** The shortest pause between two parts of an answer. A long answer has longer pauses. */
const PAUSE_MS = 100
const UNITS_PER_MS = 100

/**
 * Follows a session: its new messages, their states, and the answer of the running message as the
 * agent writes it. Looks for messages at an interval, because any process can accept them.
 */
export class LiveSession {
  readonly #options: LiveSessionOptions
  readonly #shown: Map<string, string>
  readonly #startedAt = performance.now()
  /** The stream of the running message, and the request for its next event. */
  #answer: AnswerStream | undefined
  #next: ReturnType<AnswerStream['next']> | undefined
  #running: Message | undefined
  #text = ''
  /** The offset behind `#text`. */
  #end = 0

  constructor(options: LiveSessionOptions) {
    this.#options = options
    this.#shown = new Map(options.known)
  }

  /** Returns what has changed, until the lifetime is over or a read fails. */
  async *turns(): AsyncGenerator<LiveTurn, void, undefined> {
    try {
      for (let limit = FIRST_LOOK; !this.#isOver(); limit = NEXT_LOOK) {
        const messages = await this.#newest(limit)
        if (messages === undefined) return
        for (const message of messages) if (this.#isNews(message)) yield { message }
        await this.#follow(messages.find(({ state }) => state.kind === 'running'))
        yield* this.#partsUntil(performance.now() + POLL_MS)
      }
    } finally {
      await this.#leave()
    }
  }

  #isOver(): boolean {
    return performance.now() - this.#startedAt >= LIFETIME_MS
  }

  /** Returns the newest messages, oldest first. */
  async #newest(limit: number): Promise<Message[] | undefined> {
    const { service, projectId, agent, sessionId } = this.#options
    const found = await service.messages.list({ projectId, agent, sessionId, page: { limit } })
    return found.isOk() ? found.value.data.toReversed() : undefined
  }

  #isNews(message: Message): boolean {
    const version = versionOf(message)
    if (this.#shown.get(message.id) === version) return false
    this.#shown.set(message.id, version)
    return true
  }

  async #follow(running: Message | undefined): Promise<void> {
    if (running === undefined || this.#answer !== undefined) return
    const { service, projectId, agent } = this.#options
    const opened = await service.messages.stream({ projectId, agent, messageId: running.id })
    // With too many streams, the next looks show the answer when it is final.
    if (opened.isErr() || opened.value === undefined) return
    this.#running = running
    this.#answer = opened.value
    this.#next = undefined
    this.#text = ''
    this.#end = 0
  }

  /** Returns the parts of the running answer that come before `until`. */
  async *#partsUntil(until: number): AsyncGenerator<LiveTurn, void, undefined> {
    for (;;) {
      const left = until - performance.now()
      if (left <= 0) return
      if (this.#answer === undefined) {
        await sleep(left)
        return
      }
      this.#next ??= this.#answer.next()
      const timer = new AbortController()
      const late = sleep(left, undefined, { signal: timer.signal }).catch(() => undefined)
      const taken = await Promise.race([this.#next, late])
      timer.abort()
      if (taken === undefined) return
      this.#next = undefined
      if (taken.done === true) return this.#leave()
      const turn = this.#turnOf(taken.value)
      if (turn) yield turn
      if (turn?.partial !== undefined)
        await sleep(Math.max(PAUSE_MS, turn.partial.length / UNITS_PER_MS))
    }
  }

  #turnOf(event: NonNullable<Awaited<ReturnType<AnswerStream['next']>>['value']>) {
    switch (event.kind) {
      case 'heartbeat':
        return undefined
      case 'state':
        this.#running = event.message
        this.#text = ''
        this.#end = 0
        return this.#isNews(event.message) ? { message: event.message } : undefined
      case 'chunk':
        // Earlier parts can be lost. Then the text starts in the middle.
        this.#text = event.offset === this.#end ? this.#text + event.text : `… ${event.text}`
        this.#end = event.offset + event.text.length
        return this.#running && { message: this.#running, partial: this.#text }
      case 'message':
        return this.#isNews(event.message) ? { message: event.message } : undefined
    }
  }

  async #leave(): Promise<void> {
    const answer = this.#answer
    this.#answer = undefined
    this.#running = undefined
    await answer?.return?.()
  }
}
