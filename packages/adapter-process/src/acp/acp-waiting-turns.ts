import type { RunRequest } from '@org/agent-messaging-core/runtime'
import type { AcpTurn } from './acp-turn.js'

type WaitingLimits = { readonly waitingTurnMs: number; readonly maxWaitingTurns: number }

type Waiting = { readonly turn: AcpTurn; readonly timer: NodeJS.Timeout }

/** The open turns whose message waits for a person, by session of the service. */
export class WaitingTurns {
  readonly #limits: WaitingLimits
  readonly #waiting = new Map<string, Waiting>()

  constructor(limits: WaitingLimits) {
    this.#limits = limits
  }

  keep(sessionId: string, turn: AcpTurn): void {
    const { waitingTurnMs, maxWaitingTurns } = this.#limits
    const timer = setTimeout(() => void this.#end(sessionId), waitingTurnMs)
    this.#waiting.set(sessionId, { turn, timer })
    const live = [...this.#waiting].filter(([, waiting]) => !waiting.turn.isEnding)
    const [oldest] = live[0] ?? []
    if (oldest !== undefined && live.length > maxWaitingTurns) void this.#end(oldest)
  }

  /**
   * Returns the waiting turn that the answers of the run continue. Ends any other waiting turn
   * first.
   */
  async take(run: RunRequest): Promise<AcpTurn | undefined> {
    const { sessionId } = run
    const turn = this.#waiting.get(sessionId)?.turn
    if (turn?.takeAnswer(run)) {
      this.#remove(sessionId)
      return turn
    }
    await this.#end(sessionId)
    return undefined
  }

  /** Removes all turns, because the program has ended. */
  clear(): void {
    for (const sessionId of this.#waiting.keys()) this.#remove(sessionId)
  }

  async #end(sessionId: string) {
    const waiting = this.#waiting.get(sessionId)
    await waiting?.turn.end()
    if (this.#waiting.get(sessionId) === waiting) this.#remove(sessionId)
  }

  #remove(sessionId: string) {
    clearTimeout(this.#waiting.get(sessionId)?.timer)
    this.#waiting.delete(sessionId)
  }
}
