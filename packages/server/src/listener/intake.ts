/** The longest pause of the requests while connections are accepted. */
const MAX_PAUSE_MS = 250

/**
 * Starts requests, but first lets Node accept the connections that wait.
 *
 * Node accepts one connection per turn of the event loop (libuv 1.45). Under load a turn takes as
 * long as all requests that arrived in it. Without this pause, the last of 300 new connections
 * would wait for 300 such turns. While connections arrive, requests wait up to a quarter of a
 * second. So the turns are short, and the connections are soon accepted.
 */
export class Intake {
  /** Requests that wait for their start, oldest first. */
  #waiting: (() => void)[] = []
  /** Connections since the start. */
  #accepted = 0
  /** The same, at the end of the last turn. Undefined if no connection arrived in that turn. */
  #acceptedBefore: number | undefined
  #pausedAt = 0

  /** Notes a new connection. */
  connectionAccepted(): void {
    this.#accepted++
    if (this.#acceptedBefore !== undefined) return
    this.#acceptedBefore = this.#accepted
    this.#pausedAt = performance.now()
    // One more turn, because the next connection can wait already.
    setImmediate(() => setImmediate(this.#endTurn))
  }

  /** Calls `start` now, or after the connections that wait. */
  add(start: () => void): void {
    if (this.#acceptedBefore === undefined) start()
    else this.#waiting.push(start)
  }

  /** Resolves when no connection waits to be accepted, or after `maxMs`. */
  async allAccepted(maxMs: number): Promise<void> {
    const end = performance.now() + maxMs
    let before = -1
    while (before !== this.#accepted && performance.now() < end) {
      before = this.#accepted
      await turn()
      await turn()
    }
  }

  readonly #endTurn = (): void => {
    const hasAccepted = this.#acceptedBefore !== this.#accepted
    this.#acceptedBefore = hasAccepted ? this.#accepted : undefined
    if (hasAccepted) setImmediate(this.#endTurn)
    const now = performance.now()
    if (hasAccepted && now - this.#pausedAt < MAX_PAUSE_MS) return
    for (const start of this.#waiting.splice(0)) start()
    this.#pausedAt = performance.now()
  }
}

/** Resolves after the event loop has looked for events. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
