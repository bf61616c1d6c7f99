/** What can be ended all at once. Each piece has a signal of its own: where more than ten listen to one, Node warns of a leak. */
export type AbortGroup = {
  /** Does a piece of the work. Its controller is aborted by the whole group too, at once where that has been. */
  run<T>(work: (aborter: AbortController) => Promise<T>): Promise<T>
  abort(reason: string): void
  readonly aborted: boolean
}

export function createAbortGroup(): AbortGroup {
  const underWay = new Set<AbortController>()
  let why: string | undefined
  return {
    async run(work) {
      const aborter = new AbortController()
      if (why !== undefined) aborter.abort(why)
      underWay.add(aborter)
      try {
        return await work(aborter)
      } finally {
        underWay.delete(aborter)
      }
    },
    abort(reason) {
      why = reason
      for (const aborter of underWay) aborter.abort(reason)
    },
    get aborted() {
      return why !== undefined
    },
  }
}
