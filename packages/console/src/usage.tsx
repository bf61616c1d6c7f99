import type { ProjectStats } from '@org/agent-messaging-core'
import type { StatsRow } from '@org/agent-messaging-core/host'
import { toIso } from '@org/agent-messaging-core/storage'
import { z } from 'zod'
import { type ConsoleDeps, newRoutes, BASE } from './context.js'
import { agentNames } from './agents.js'
import { FilterForm } from './parts/fields.js'
import { optional } from './parts/filter.js'
import { projectIn } from './parts/input.js'
import { need } from './parts/layout.js'
import { upTo } from './parts/numbers.js'
import { Id } from './parts/parts.js'
import { type Column, type Columns, Empty, listPage, number } from './parts/table.js'

const USAGE = `${BASE}/usage`
const PAGE_LENGTH = 100

const day = optional(z.iso.date())
const query = z.object({
  by: optional(z.literal('agent')),
  from: day,
  to: day,
  /** The number of rows before the page. */
  cursor: z.coerce.number().int().min(0).catch(0),
})

/** The counts of the project or of its agents by day (UTC), the newest first. */
export const usageRoutes = ({ service }: ConsoleDeps) =>
  newRoutes().get('/usage', need('stats'), async (c) => {
    const { by, from, to, cursor } = query.parse(c.req.query())
    const asked = { projectId: projectIn(c), step: '1d', by } as const
    const stats = await service.stats({ ...asked, from: startOf(from), to: startOf(to) })
    const names = by && (await agentNames(c, service))
    const end = c.env.sheet ? Infinity : cursor + PAGE_LENGTH
    const days = stats.rows.toReversed()
    return listPage<Row>(c, {
      title: 'Usage',
      section: 'Usage',
      before: (
        <FilterForm
          path={USAGE}
          fields={FIELDS}
          values={{ by, from: dateOf(stats.from), to: dateOf(stats.to) }}
        />
      ),
      page: {
        data: [
          ...(cursor === 0 && days.length > 0 && !c.env.sheet ? [stats.total] : []),
          ...days.slice(cursor, end),
        ],
        nextCursor: end < days.length ? String(end) : null,
      },
      columns: columnsFor(stats, names),
      empty: (
        <Empty title="Nothing happened">
          <p>
            No message, run or delivery was counted from {dateOf(stats.from)} to {dateOf(stats.to)}.
          </p>
        </Empty>
      ),
    })
  })

const startOf = (date: string | undefined) => (date === undefined ? date : Date.parse(date))
const dateOf = (at: number) => toIso(at).slice(0, 10)

const FIELDS = {
  by: { label: 'Rows', any: 'days', choices: [['agent', 'agents of each day']] },
  from: { label: 'From (UTC)', type: 'date' },
  to: { label: 'To (UTC)', type: 'date' },
} as const

/** The total of all days has no `at`. */
type Row = ProjectStats['total'] & Partial<StatsRow>

/** The time in which a part of the answers came. The file has milliseconds. */
const time = (ms: (row: Row) => number | null): Column<Row> => ({
  class: 'number',
  cell: (row) => (row.answered === 0 ? '–' : upTo(ms(row))),
  csv: (row) => (row.answered === 0 ? '' : (ms(row) ?? 'over 1800000')),
})

const columnsFor = (
  { to, peopleToday }: ProjectStats,
  agents: ReadonlyMap<string, string> | undefined,
): Columns<Row> => ({
  Day: { class: 'nowrap', cell: ({ at }) => (at === undefined ? 'Total' : dateOf(at)) },
  Agent: agents !== undefined && {
    class: 'any',
    cell: ({ id }) => id && (agents.get(id) ?? <Id id={id} />),
  },
  People: {
    class: 'number',
    cell: ({ at, people }) => {
      if (at !== to || !peopleToday) return people ?? '–'
      return `${peopleToday.isExact ? '' : 'at least '}${peopleToday.count}`
    },
  },
  Messages: number(({ messages }) => messages),
  Answered: number(({ answered }) => answered),
  Failed: number(({ failed }) => failed),
  Cancelled: number(({ cancelled }) => cancelled),
  p50: time(({ p50Ms }) => p50Ms),
  p95: time(({ p95Ms }) => p95Ms),
  'Input tokens': number(({ inputTokens }) => inputTokens),
  'Output tokens': number(({ outputTokens }) => outputTokens),
  Delivered: agents === undefined && number(({ delivered }) => delivered),
  Exhausted: agents === undefined && number(({ exhausted }) => exhausted),
})
