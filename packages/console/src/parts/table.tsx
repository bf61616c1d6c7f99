import type { Instant, Page } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import type { PageRequest } from '../context.js'
import { fillSheet } from './sheet.js'
import { type Page as ShownPage, show } from './layout.js'
import { PAGE_LENGTH } from './input.js'
import { formatCount, FullTime, relative, Time, Card } from './parts.js'
import { localDate, shortTime, useView } from './zone.js'

/**
 * Returns the contents of a cell. An object also says how to align the cells, or has the time of a
 * row: relative to now, or as the time of day if all rows have the same day.
 */
export type Column<Row> =
  | Cell<Row>
  | { readonly at: (row: Row) => Instant | undefined }
  | {
      readonly cell: Cell<Row>
      /** `any`: text of people, which can be long. */
      readonly class?: 'number' | 'any' | 'nowrap' | 'actions'
      readonly dir?: 'auto'
      /** The cell of a file. Default: the text of `cell`. */
      readonly csv?: Cell<Row>
    }
type Cell<Row> = (row: Row) => Child

/** The columns by their titles. The first one names the row. */
export type Columns<Row> = Readonly<Record<string, Column<Row> | false>>

/** A column of numbers. Bad ones are red above 0. */
export const number = <Row,>(count: (row: Row) => number, isBad = false): Column<Row> => ({
  class: 'number',
  cell: (row) => {
    const text = formatCount(count(row))
    return isBad && count(row) > 0 ? <span class="answer bad">{text}</span> : text
  },
  csv: count,
})

type Rows<Row> = { readonly rows: readonly Row[]; readonly columns: Columns<Row> }
type TableProps<Row> = Rows<Row> &
  ({ readonly label: string } | { /** The id of its heading. */ readonly labelledBy: string })

/** Shows a row for each item. On small screens, each cell shows its title. */
export function DataTable<Row>({ rows, columns, ...named }: TableProps<Row>) {
  const frame =
    'label' in named
      ? { class: 'scroll card flush', role: 'region', 'aria-label': named.label }
      : { class: 'scroll', role: 'group', 'aria-labelledby': named.labelledBy }
  const view = useView()
  const shown = Object.entries(columns).flatMap(([title, column]) => {
    if (!column) return []
    if (typeof column === 'function') return { title, cell: column }
    return 'at' in column ? { title, cell: timesOf(rows, column.at, view) } : { title, ...column }
  })
  return (
    <div {...frame} tabindex={0}>
      <table>
        <thead>
          <tr>
            {shown.map(({ title, class: kind }) => (
              <th scope="col" class={kind === 'number' ? kind : undefined}>
                {kind === 'actions' ? <span class="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {shown.map(({ title, cell, csv: _, ...look }, at) => {
                const content = cell(row)
                if (at === 0)
                  return (
                    <th scope="row" {...look}>
                      {content}
                    </th>
                  )
                const isTitled = content !== '' && look.class !== 'actions'
                return (
                  <td {...look} data-label={isTitled ? title : undefined}>
                    {content}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function timesOf<Row>(
  rows: readonly Row[],
  at: (row: Row) => Instant | undefined,
  { now, zone }: Pick<ReturnType<typeof useView>, 'now' | 'zone'>,
): Cell<Row> {
  const days = new Set(rows.flatMap((row) => at(row) ?? []).map((day) => localDate(day, zone)))
  const isOneDay = rows.length > 1 && days.size < 2
  const text = (instant: Instant) =>
    isOneDay ? shortTime(instant, now, zone) : relative(instant, now)
  return (row) => {
    const instant = at(row)
    return instant === undefined ? '–' : <Time at={instant} text={text} />
  }
}

type SectionProps<Row> = Rows<Row> & {
  readonly id: string
  readonly title: Child
  /** Replaces a table without rows. */
  readonly empty?: Child
}

/** Shows a table below its heading. */
export const TableSection = <Row,>({ id, title, empty, ...table }: SectionProps<Row>) => (
  <Card id={id} title={title} class="card flush">
    {table.rows.length === 0 ? empty : <DataTable labelledBy={id} {...table} />}
  </Card>
)

type ListProps<Row> = {
  readonly label: string
  readonly page: Page<Row>
  readonly columns: Columns<Row>
  /** Replaces an empty list. */
  readonly empty: Child
  /** The name of the link to the next page. */
  readonly next?: string
}

type ListPage<Row> = Omit<ListProps<Row>, 'label'> &
  ShownPage & {
    /** Default: the title. */
    readonly heading?: string
    /** The name of the table. Default: the title. */
    readonly label?: string
    /** Beside the heading. */
    readonly action?: Child
    readonly before?: Child
    /** Above the list, and updated with it. */
    readonly tabs?: Child
    /** Beside the list. */
    readonly aside?: Child
    readonly after?: Child
    /** The milliseconds between two updates. */
    readonly every?: number | false
  }

/** Answers with a page that has a list, between its filter and its form. */
export function listPage<Row>(c: PageRequest, options: ListPage<Row>) {
  const { title, heading = title, label = title, every = false } = options
  const { action, before, tabs, aside, after } = options
  if (c.env.sheet) return fillSheet(c, c.env.sheet, options)
  const rows = (
    <>
      {tabs}
      <List {...options} label={label} />
    </>
  )
  const list = every === false ? rows : <Live every={every}>{rows}</Live>
  return show(
    c,
    options,
    <>
      <div class="heading">
        <h1>{heading}</h1>
        {action}
      </div>
      {before}
      {aside === undefined ? (
        list
      ) : (
        <div class="columns">
          {list}
          {aside}
        </div>
      )}
      {after}
    </>,
  )
}

/** Shows one page of a list, with links to the first and the next page. */
function List<Row>({ label, page, columns, empty, next }: ListProps<Row>) {
  const { data, nextCursor } = page
  const looked = lookedAt(page)
  const pages = <Next cursor={nextCursor} label={looked ? 'Look further' : next} />
  if (data.length > 0)
    return (
      <>
        <DataTable label={label} rows={data} columns={columns} />
        {looked}
        <div class="pages">
          {pages}
          <Download />
        </div>
      </>
    )
  const further = looked ?? (
    <p class="muted">
      No matches among the newest {label.toLowerCase()}. Continue with older ones.
    </p>
  )
  return (
    <>
      {nextCursor === null ? empty : further}
      {pages}
    </>
  )
}

/** Says how far a search looked that ended before its page was full. */
export const lookedAt = (
  { data, lookedBackTo }: Pick<Page<unknown>, 'data' | 'lookedBackTo'>,
  length = PAGE_LENGTH,
) =>
  lookedBackTo === undefined || data.length >= length ? undefined : (
    <p class="muted">
      {data.length === 0 && 'No match. '}Looked back to <FullTime at={lookedBackTo} />.
    </p>
  )

const Download = () => {
  const url = urlOf(useView().c)
  url.searchParams.delete('cursor')
  url.searchParams.set('format', 'csv')
  return <a href={url.pathname + url.search}>Download CSV</a>
}

/** Replaces an empty list. Explains the list and the first step. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string
  readonly children: Child
}) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

type NextProps = { readonly cursor: string | null; readonly label?: string | undefined }

/** Links to the first and the next page of a list. */
export function Next({ cursor, label = 'Older' }: NextProps) {
  const url = urlOf(useView().c)
  const isFirst = !url.searchParams.has('cursor')
  url.searchParams.delete('cursor')
  const first = url.pathname + url.search
  if (cursor !== null) url.searchParams.set('cursor', cursor)
  if (cursor === null && isFirst) return null
  return (
    <nav class="pages" aria-label="Pages">
      {isFirst ? null : <a href={first}>{label === 'Older' ? 'Newest' : 'First page'}</a>}
      {cursor === null ? null : (
        <a href={url.pathname + url.search} rel="next">
          {label}
        </a>
      )}
    </nav>
  )
}

type LiveProps = {
  readonly every: number
  readonly children: Child
}

/** Makes htmx request this page at an interval of milliseconds, and replace this part. */
export const Live = ({ every, children }: LiveProps) => (
  <div {...refreshed('live', every, pathOf(useView().c))}>{children}</div>
)

/** Makes htmx request this page at an interval, and replace the element that has this id. */
export const refreshed = (id: string, everyMs: number, path: string) => ({
  id,
  'hx-get': path,
  'hx-trigger': `every ${everyMs}ms`,
  'hx-select': `#${id}`,
  'hx-target': 'this',
  'hx-swap': 'outerHTML',
})

/** Returns the path and the query of the request, without a notice. */
export const pathOf = (c: PageRequest) => {
  const { pathname, search } = urlOf(c)
  return pathname + search
}

/** Returns the address of the request, without a notice. */
function urlOf(c: PageRequest) {
  const url = new URL(c.req.url)
  url.searchParams.delete('notice')
  return url
}
