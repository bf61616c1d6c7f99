import type { Counted, Counts, Fact } from './history.js'
import type { Breach, Invariant } from './violation.js'

export const DAY_MS = 86_400_000
/** The service keeps counts of five minutes, an hour and a day. */
export const STEPS_MS = [300_000, 3_600_000, DAY_MS]

/** 11. The service counts each fact once, at its time, for its agent or webhook and the project. */
export const counts: Invariant = function* ({ counted }) {
  if (counted) yield* wrongCounts(counted)
}

/** Returns the counts that differ from the facts. */
export function* wrongCounts({ facts, rows }: Counted): Generator<Breach> {
  for (const stepMs of STEPS_MS) {
    const expected = countsOf(facts, stepMs)
    for (const { subject, id, at, counts: found } of rows.filter((row) => row.stepMs === stepMs)) {
      const name = nameOf(subject, id, at)
      yield* differences(`${name} in ${stepMs} ms`, found, expected.get(name) ?? {})
      expected.delete(name)
    }
    for (const [name, missing] of expected)
      yield* differences(`${name} in ${stepMs} ms`, {}, missing)
  }
}

const nameOf = (subject: string, id: string, at: number): string =>
  `${subject} ${id} from ${new Date(at).toISOString()}`

function* differences(of: string, found: Counts, expected: Counts): Generator<Breach> {
  for (const name of new Set([...Object.keys(found), ...Object.keys(expected)])) {
    const [count = 0, fact = 0] = [found[name], expected[name]]
    if (count !== fact)
      yield { of, problem: `the service counts ${count} as ${name}, and the log has ${fact}` }
  }
}

/** Returns the sums of the facts of each subject in each step. */
function countsOf(facts: readonly Fact[], stepMs: number): Map<string, Counts> {
  const sums = new Map<string, Record<string, number>>()
  for (const { subject, id, at, counts: added } of facts) {
    const start = at - (at % stepMs)
    for (const name of new Set([nameOf(subject, id, start), nameOf('project', '', start)])) {
      const sum = sums.get(name) ?? {}
      for (const [key, count = 0] of Object.entries(added)) sum[key] = (sum[key] ?? 0) + count
      sums.set(name, sum)
    }
  }
  return sums
}
