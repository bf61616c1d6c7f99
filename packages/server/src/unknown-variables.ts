import type { Variables } from './config.js'
import { environment } from './environment.js'

/** A line for each SERVICE_… variable that this server does not know: most are mistyped. One with an odd name may have its value in there. */
export function unknownVariables(env: Variables): string[] {
  const known = Object.keys(environment.shape)
  const strange = Object.keys(env).filter(
    (name) => /^SERVICE_\w+$/.test(name) && !known.includes(name),
  )
  return strange.map((name) => {
    const meant = nearest(name, known)
    return `${name} is no setting of this server and has no effect${meant === undefined ? '' : `; did you mean ${meant}?`}`
  })
}

/** The one of `names` that is closest to a mistyped `name`, if any is close enough to be meant. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((other) => ({ other, distance: editDistance(name, other) }))
    .sort((a, b) => a.distance - b.distance)
  return best && best.distance <= name.length / 3 ? best.other : undefined
}

/** Letters to change, add or leave out (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
