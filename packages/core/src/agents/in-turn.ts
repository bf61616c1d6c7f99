/** Does work one piece at a time for each key, in the order in which it was asked for. */
export type InTurn = {
  /** Ends when the work has. Never rejects. */
  run(key: string, work: () => Promise<void>): Promise<void>
  /** The last piece of work for the key that has not ended; undefined when there is none. */
  underWay(key: string): Promise<void> | undefined
  /** Those with work that has not ended. */
  keys(): string[]
}

/** `onDefect` hears what the work threw. */
export function createInTurn(onDefect: (key: string, error: unknown) => void): InTurn {
  const last = new Map<string, Promise<void>>()
  return {
    run(key, work) {
      const turn = (last.get(key) ?? Promise.resolve())
        .then(work)
        .catch((error: unknown) => onDefect(key, error))
        .finally(() => {
          if (last.get(key) === turn) last.delete(key)
        })
      last.set(key, turn)
      return turn
    },
    underWay: (key) => last.get(key),
    keys: () => [...last.keys()],
  }
}
