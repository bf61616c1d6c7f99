import type { Platform } from '../platform.js'

/** An AbortSignal, or less. It is read at each poll. */
export type Reader = { readonly aborted: boolean }

type Waiter = {
  readonly projectId: string
  /** The reader's position in the log. */
  readonly after: number
  /** In elapsed time. */
  readonly deadline: number
  readonly reader: Reader | undefined
  readonly resolve: (hasWaited: true) => void
}

/**
 * Where readers of the log wait for events. News of a commit wakes the readers of its project. A
 * poll covers lost news: one query serves all waiting readers.
 */
export class EventReaders {
  readonly #platform: Platform
  readonly #waiters = new Map<string, Set<Waiter>>()
  #stopListening: (() => void) | undefined
  #nap = new AbortController()
  #isRunning = false
  #isClosed = false

  constructor(platform: Platform) {
    this.#platform = platform
  }

  get size(): number {
    let size = 0
    for (const waiters of this.#waiters.values()) size += waiters.size
    return size
  }

  /**
   * Resolves when the project can have an event after the position, at the deadline, when the
   * reader leaves, and when the service stops. Resolves with false if the reader cannot wait: its
   * deadline has passed, the project has too many waiting readers, or the service stops.
   */
  wait(
    projectId: string,
    after: number,
    deadline: number,
    reader: Reader | undefined,
  ): Promise<boolean> {
    const { clock, eventNews, policy } = this.#platform
    const waiters = this.#waiters.get(projectId) ?? new Set()
    const hasTime = deadline > clock.elapsed() // false for NaN, which a host can pass
    if (this.#isClosed || !hasTime || waiters.size >= policy.maxWaitingPerProject)
      return Promise.resolve(false)
    this.#stopListening ??= eventNews.listen((id) => this.#wake(id))
    return new Promise((resolve) => {
      waiters.add({ projectId, after, deadline, reader, resolve })
      this.#waiters.set(projectId, waiters)
      if (this.#isRunning) this.#nap.abort('another reader')
      else void this.#run()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#stopListening?.()
    for (const projectId of this.#waiters.keys()) this.#wake(projectId)
    this.#nap.abort('closed')
  }

  #wake(projectId: string): void {
    for (const waiter of this.#waiters.get(projectId) ?? []) this.#leave(waiter)
  }

  #leave(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.projectId)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#waiters.delete(waiter.projectId)
    waiter.resolve(true)
  }

  /** Runs while readers wait. */
  async #run(): Promise<void> {
    const { clock, policy } = this.#platform
    this.#isRunning = true
    let nextPoll = clock.elapsed() + policy.pollMs
    while (this.#waiters.size > 0) {
      this.#nap = new AbortController()
      await clock.sleep(this.#firstDeadline(nextPoll) - clock.elapsed(), this.#nap.signal)
      const now = clock.elapsed()
      for (const waiter of this.#all())
        if (waiter.deadline <= now || waiter.reader?.aborted) this.#leave(waiter)
      if (now < nextPoll) continue
      await this.#poll()
      nextPoll = clock.elapsed() + policy.pollMs
    }
    this.#isRunning = false
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flatMap((waiters) => [...waiters])
  }

  #firstDeadline(latest: number): number {
    return this.#all().reduce((first, { deadline }) => Math.min(first, deadline), latest)
  }

  async #poll(): Promise<void> {
    const tails = [...this.#waiters].map(([projectId, waiters]) => ({
      projectId,
      after: Math.min(...[...waiters].map(({ after }) => after)),
    }))
    if (tails.length === 0) return
    const found = await this.#platform.storage.events.findNew(tails)
    for (const projectId of found.ok ? found.value : []) this.#wake(projectId)
  }
}
