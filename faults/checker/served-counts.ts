import { DAY_MS } from './counts.js'
import type { CountRow, Counts } from './history.js'

const STEPS = { '5m': 300_000, '1h': 3_600_000, '1d': DAY_MS }
const SUBJECTS = { project: '', agent: '&by=agent', webhook: '&by=webhook' } as const

type StatsRow = Counts & {
  readonly at: string
  readonly id?: string
  readonly byClass: Counts
  readonly byTime: readonly number[]
}
type ReadJson = <T>(route: string) => Promise<T>

/**
 * Returns the counts of a day of the project, its agents and its webhooks that the API serves. People
 * and percentiles are no counts.
 */
export async function servedCounts(json: ReadJson): Promise<CountRow[]> {
  const rows: CountRow[] = []
  const from = new Date(Date.now() - DAY_MS).toISOString()
  for (const [subject, by] of Object.entries(SUBJECTS))
    for (const [step, stepMs] of Object.entries(STEPS)) {
      const stats = await json<{ rows: StatsRow[] }>(`/v1/stats?step=${step}&from=${from}${by}`)
      rows.push(
        ...stats.rows.map(
          ({ at, id = '', byClass, byTime, p50Ms: _, p95Ms: __, people: ___, ...counts }) => ({
            subject: subject as keyof typeof SUBJECTS,
            stepMs,
            id,
            at: Date.parse(at),
            counts: { ...counts, ...named('class', byClass), ...named('time', byTime) },
          }),
        ),
      )
    }
  return rows
}

const named = (kind: string, counts: Counts | readonly number[]): Counts =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${kind}:${name}`, count]))
