/** Answers per generation. */
const MOST = 1_000
const GENERATION_MS = 60_000

/**
 * Caches `ask`, which must depend only on its two texts. Keeps at least 1,000 answers, each for
 * two minutes after its last use at most, also when the clock is set back. Does not cache
 * `undefined`.
 */
export function remembered<A extends string, B>(
  ask: (what: A, of: string) => B | undefined,
): (what: A, of: string) => B | undefined {
  let young = new Map<string, B>()
  let old = new Map<string, B>()
  let turnsAt = 0

  const isSetBack = (now: number): boolean => now < turnsAt - GENERATION_MS

  function turn(now: number): void {
    old = now < turnsAt + GENERATION_MS && !isSetBack(now) ? young : new Map()
    young = new Map()
    turnsAt = now + GENERATION_MS
  }

  return (what, of) => {
    const now = Date.now()
    if (now >= turnsAt || isSetBack(now) || young.size >= MOST) turn(now)
    const key = `${of}\n${what}`
    const answer = young.get(key) ?? old.get(key) ?? ask(what, of)
    if (answer !== undefined) young.set(key, answer)
    return answer
  }
}
