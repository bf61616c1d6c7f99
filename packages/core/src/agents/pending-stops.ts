/** Agents that stop after their runs have ended. A new start cancels the wait. */
export class PendingStops {
  readonly #cancels = new Map<string, () => void>()

  /** Resolves to true when the runs have ended, or to false when the stop is cancelled before. */
  async wait(agentId: string, runsEnded: Promise<void>): Promise<boolean> {
    const cancelled = new Promise<boolean>((resolve) =>
      this.#cancels.set(agentId, () => resolve(false)),
    )
    const hasEnded = await Promise.race([runsEnded.then(() => true), cancelled])
    this.#cancels.delete(agentId)
    return hasEnded
  }

  cancel(agentId: string): void {
    this.#cancels.get(agentId)?.()
  }
}
