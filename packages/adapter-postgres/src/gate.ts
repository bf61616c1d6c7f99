/** Gets what gives the place back, for the next one; to call it again does nothing. */
type Entered = (leave: () => void) => void
export type Gate = { enter(go: Entered): void }

/**
 * Lets so many in at a time, the rest in the order of their coming. Who takes longer than `patienceMs` waits for something else than the
 * processor, such as a lock or a slow disk, and holds nobody up any more.
 */
export function createGate(places: number, patienceMs: number): Gate {
  const waiting: Entered[] = []
  let free = places

  function letIn(go: Entered): void {
    let isIn = true
    const leave = (): void => {
      if (!isIn) return
      isIn = false
      clearTimeout(late)
      const next = waiting.shift()
      if (next) letIn(next)
      else free++
    }
    const late = setTimeout(leave, patienceMs)
    go(leave)
  }

  return {
    enter(go) {
      if (free === 0) return void waiting.push(go)
      free--
      letIn(go)
    },
  }
}

/** For who shares nothing. */
export const openGate: Gate = { enter: (go) => go(() => undefined) }
