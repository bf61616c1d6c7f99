import type { Access } from '../domain/access/access.js'
import { isSettled, type Message } from '../domain/messages/message.js'
import { ShortLivedMap } from '../domain/values/short-lived-map.js'
import type { Platform } from '../platform.js'
import type { Caller } from '../ports/stored.js'
import { ProjectCounts } from './project-counts.js'

/** One waiting caller. Thousands wait at once, so shared state belongs into `WaitingRoom`. */
type Waiter = {
  readonly number: number
  /** The message as the caller last saw it. */
  readonly message: Message
  /** In elapsed time, like all times here. */
  readonly deadline: number
  readonly caller: Caller | undefined
  readonly access: Access | undefined
  readonly resolve: (seen: Message) => void
  readonly stopListening: () => void
}

/** Messages that one poll reads to find erased ones. They are read whole and can be long. */
const MAX_READ = 20

/**
 * Where callers wait for answers.
 *
 * An answer arrives in one of two ways:
 * - The signal brings the message, or only its id if another process has answered.
 * - A poll finds it. One query serves all waiting callers.
 *
 * One timer serves all callers as well: it ends at the next poll or at the first deadline.
 */
export class WaitingRoom {
  readonly #platform: Platform
  /** By number. */
  readonly #waiters = new ShortLivedMap<number, Waiter>()
  readonly #perProject: ProjectCounts
  /** Waiters whose message the signal named without bringing it. */
  readonly #notified = new Set<Waiter>()
  #lastNumber = 0
  #timer: { readonly until: number; readonly aborter: AbortController } | undefined
  #isPolling = false
  #isFetching = false
  #isClosed = false

  constructor(platform: Platform, waits = new ProjectCounts()) {
    this.#platform = platform
    this.#perProject = waits
  }

  get size(): number {
    return this.#waiters.size
  }

  /**
   * Returns the message once it is final or waits for a person. Returns the message as it was at
   * the deadline, when the caller leaves, when the message is erased, when the room is full or has
   * too many waits of the caller, and when the room closes.
   * Listens before it returns, and never rejects. `deadline` is in elapsed time.
   */
  wait(message: Message, deadline: number, caller?: Caller, access?: Access): Promise<Message> {
    const { clock, policy } = this.#platform
    const { projectId } = message
    const isFull = this.#perProject.isFull({ projectId, access }, policy.maxWaitingPerProject)
    const hasTime = deadline > clock.elapsed() // false for NaN, which a host can pass
    const canWait = hasTime && !isSettled(message.state) && !isFull && !this.#isClosed
    return canWait ? this.#enter(message, deadline, caller, access) : Promise.resolve(message)
  }

  /**
   * Resolves the waits for erased messages of this process. A poll finds those that other
   * processes erase.
   */
  dismiss(isErased: (message: Message) => boolean): void {
    for (const waiter of this.#waiters.values()) if (isErased(waiter.message)) this.#leave(waiter)
  }

  /** Resolves all waits now. Each caller gets its 202. */
  close(): void {
    this.#isClosed = true
    for (const waiter of this.#waiters.values()) this.#leave(waiter)
  }

  #enter(
    message: Message,
    deadline: number,
    caller: Caller | undefined,
    access: Access | undefined,
  ): Promise<Message> {
    const { signal } = this.#platform
    return new Promise((resolve) => {
      const stopListening = signal.listen(message.id, (heard) => this.#hear(waiter, heard))
      const number = ++this.#lastNumber
      const waiter: Waiter = {
        number,
        message,
        deadline,
        caller,
        access,
        resolve,
        stopListening,
      }
      this.#waiters.set(number, waiter)
      this.#perProject.add({ projectId: message.projectId, access }, 1)
      if (!this.#timer) void this.#run()
      else if (deadline < this.#timer.until) this.#timer.aborter.abort('earlier deadline')
    })
  }

  #leave(waiter: Waiter, seen = waiter.message): void {
    if (!this.#waiters.delete(waiter.number)) return
    const { projectId } = waiter.message
    this.#perProject.add({ projectId, access: waiter.access }, -1)
    waiter.stopListening()
    waiter.resolve(seen)
  }

  #hear(waiter: Waiter, heard: Message | undefined): void {
    if (!heard) {
      this.#notified.add(waiter)
      void this.#fetchNotified()
    } else if (isSettled(heard.state)) this.#leave(waiter, heard)
  }

  /** Fetches the answers of all waiters that are notified together, with one query. */
  async #fetchNotified(): Promise<void> {
    if (this.#isFetching) return
    this.#isFetching = true
    await Promise.resolve() // one notification can name many messages
    while (this.#notified.size > 0) {
      const waiters = [...this.#notified]
      this.#notified.clear()
      await this.#fetch(waiters)
    }
    this.#isFetching = false
  }

  /** Runs while callers wait. */
  async #run(): Promise<void> {
    const { clock, policy } = this.#platform
    let nextPoll = clock.elapsed() + policy.pollMs
    while (this.#waiters.size > 0) {
      await this.#sleepUntil(this.#firstDeadline(nextPoll))
      const now = clock.elapsed()
      for (const waiter of this.#waiters.values()) this.#check(waiter, now)
      nextPoll = Math.min(nextPoll, now + policy.pollMs)
      if (now < nextPoll) continue
      void this.#poll()
      nextPoll = now + policy.pollMs
    }
    this.#timer = undefined
  }

  async #sleepUntil(until: number): Promise<void> {
    const { clock } = this.#platform
    const aborter = new AbortController()
    this.#timer = { until, aborter }
    await clock.sleep(until - clock.elapsed(), aborter.signal)
  }

  #firstDeadline(latest: number): number {
    let first = latest
    for (const { deadline } of this.#waiters.values()) first = Math.min(first, deadline)
    return first
  }

  #check(waiter: Waiter, now: number): void {
    if (waiter.deadline <= now || waiter.caller?.aborted) this.#leave(waiter)
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    await this.#fetch([...this.#waiters.values()])
    await this.#dismissErased(this.#rotate())
    this.#isPolling = false
  }

  async #fetch(waiters: readonly Waiter[]): Promise<void> {
    if (waiters.length === 0) return
    const found = await this.#platform.storage.messages.findSettled(messageIds(waiters))
    const final = new Map((found.ok ? found.value : []).map((message) => [message.id, message]))
    for (const waiter of waiters) {
      const message = final.get(waiter.message.id)
      if (message) this.#leave(waiter, message)
    }
  }

  /** Returns the first waiters, and moves them behind the others. */
  #rotate(): Waiter[] {
    const first = [...this.#waiters.values()].slice(0, MAX_READ)
    for (const { number } of first) this.#waiters.delete(number)
    for (const waiter of first) this.#waiters.set(waiter.number, waiter)
    return first
  }

  async #dismissErased(waiters: readonly Waiter[]): Promise<void> {
    if (waiters.length === 0) return
    const found = await this.#platform.storage.messages.find(messageIds(waiters))
    if (!found.ok) return
    const stored = new Set(found.value.map(({ id }) => id))
    for (const waiter of waiters) if (!stored.has(waiter.message.id)) this.#leave(waiter)
  }
}

const messageIds = (waiters: readonly Waiter[]): string[] => [
  ...new Set(waiters.map(({ message }) => message.id)),
]
