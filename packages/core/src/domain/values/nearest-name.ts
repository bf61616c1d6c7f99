/** A longer name is not compared, so that the work does not grow with it. */
const MAX_LENGTH = 64
/** The most unknown names that a text contains. */
const MAX_NAMED = 5

/** Returns the name with the fewest typing errors, or undefined if every name is too different. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined
  const [best] = names
    .map((other) => ({ other, distance: editDistance(name, other) }))
    .sort((a, b) => a.distance - b.distance)
  const most = Math.min(name.length / 2, Math.max(2, name.length / 3))
  return best && best.distance <= most ? best.other : undefined
}

/** Names the nearest known name, if there is one. The end of a sentence about the name. */
export function didYouMean(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  return nearest === undefined ? '' : ` (did you mean ${nearest}?)`
}

/** Returns the name, with the nearest known name if there is one. */
export const withNearest = (name: string, known: readonly string[]): string =>
  (name.length > MAX_LENGTH ? `${name.slice(0, MAX_LENGTH)}…` : name) + didYouMean(name, known)

/** Names the first unknown fields of an object. The end of a sentence about the object. */
export function unknownFields(unknown: readonly string[], known: readonly string[]): string {
  const named = unknown.slice(0, MAX_NAMED).map((name) => withNearest(name, known))
  return `has unknown fields: ${named.join(', ')}. Known fields: ${known.join(', ')}`
}

/** Levenshtein distance: the number of letters to change, add or remove. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const [before, above, left] = [row[j - 1], row[j], next[j - 1]] as [number, number, number]
      next.push(Math.min(before + (a[i - 1] === b[j - 1] ? 0 : 1), above + 1, left + 1))
    }
    row = next
  }
  return row[b.length] as number
}
