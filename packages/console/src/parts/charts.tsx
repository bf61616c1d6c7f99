import type { Instant } from '@org/agent-messaging-core'
import { Time } from './parts.js'
import { type Columns, DataTable } from './table.js'
import { localTime, useView } from './zone.js'

export type Series = {
  readonly name: string
  readonly tone: 'good' | 'bad' | 'busy'
  readonly values: readonly number[]
  /** The list that the total counts. */
  readonly href?: string | undefined
}
/** The time that a bar counts. */
type Span = { readonly from: Instant; readonly to: Instant | undefined }
type ChartProps = {
  readonly title: string
  readonly series: readonly Series[]
  /** The start of each bucket. */
  readonly at: readonly Instant[]
  /** Writes a value. Only counts, which have no unit, have a total. */
  readonly format?: ((value: number) => string) | undefined
  /** Draws the series before each other, the last one in front, and not above each other. */
  readonly isNested?: boolean
  /** Returns the address of the list that a bar counts. */
  readonly listOf: (span: Span) => string
}

const HEIGHT = 100
const DAY_MS = 86_400_000
const GAP = 0.18

export const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

const sums = (series: readonly Series[], length: number) =>
  Array.from({ length }, (_, i) => sumOf(series.map(({ values }) => values[i] ?? 0)))

/**
 * Draws stacked bars over time, on the server. Each bar shows its values on hover, and the script
 * also reads them out for the arrow keys. A table below the bars has the same numbers.
 */
export function Chart({ title, series, at, format, isNested = false, listOf }: ChartProps) {
  const id = title.replaceAll(' ', '-')
  const text = format ?? String
  const highest = isNested ? series.flatMap(({ values }) => values) : sums(series, at.length)
  const top = Math.max(1, ...highest)
  const [first = 0] = at
  const middle = at[at.length / 2] ?? 0
  const { zone } = useView()
  const isOfDays = 2 * (middle - first) > DAY_MS
  const axisTime = (instant: Instant) =>
    isOfDays ? localTime(instant, zone).slice(5, 10) : localTime(instant, zone).slice(11, 16)
  const readings = at.map((start, i) => {
    const values = series.map(({ name, values: all }) => `${name} ${text(all[i] ?? 0)}`)
    const reading = `${localTime(start, zone).slice(5, 16)}: ${values.join(', ')}`
    return { reading, href: listOf({ from: start, to: at[i + 1] }) }
  })
  return (
    <figure class="chart card">
      <figcaption>
        <h2 id={id}>{title}</h2>
        <ul class="legend">
          {series.map(({ name, tone, values, href }) => (
            <li class={tone}>
              {name}
              {!format && <Total values={values} href={href} />}
            </li>
          ))}
        </ul>
      </figcaption>
      <div
        class="plot"
        tabindex={0}
        role="group"
        aria-label={`${title}. The arrow keys read out the values. Enter opens the list of a bar.`}
      >
        <span class="scale" aria-hidden="true">
          {format ? format(top) : top.toLocaleString('en')}
        </span>
        <Bars title={title} series={series} readings={readings} top={top} isNested={isNested} />
        <p class="reading" role="status" />
      </div>
      <div class="axis" aria-hidden="true">
        <span>{axisTime(first)}</span>
        <span>{axisTime(middle)}</span>
        <span>now</span>
      </div>
      <details>
        <summary>Show as a table</summary>
        <NumberTable id={id} series={series} readings={readings} at={at} text={text} />
      </details>
    </figure>
  )
}

function Total({ values, href }: Pick<Series, 'values' | 'href'>) {
  const total = <b>{sumOf(values).toLocaleString('en')}</b>
  return href === undefined ? total : <a href={href}>{total}</a>
}

function Bars({
  title,
  series,
  readings,
  top,
  isNested,
}: Pick<ChartProps, 'title' | 'series'> & {
  readonly readings: readonly Reading[]
  readonly top: number
  readonly isNested: boolean
}) {
  const { length } = readings
  return (
    <svg
      viewBox={`0 0 ${length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="group"
      aria-label={`${title}. The table below has the numbers.`}
    >
      <line x1="0" y1={HEIGHT} x2={length} y2={HEIGHT} class="base" />
      {readings.map(({ reading, href }, i) => (
        <a href={href} tabindex={-1} data-reading={reading} aria-label={reading}>
          <title>{reading}</title>
          <rect class="hit" x={i} y="0" width="1" height={HEIGHT} />
          {bars(series, i, top, isNested)}
        </a>
      ))}
    </svg>
  )
}

/** The values of a bucket as a text, and its list. */
type Reading = { readonly reading: string; readonly href: string }

function bars(series: readonly Series[], i: number, top: number, isNested = false) {
  let y = HEIGHT
  return series.map(({ tone, values }) => {
    const value = values[i] ?? 0
    if (value === 0) return null
    // A single failure among thousands stays visible.
    const height = Math.max(1.5, (value / top) * HEIGHT)
    y = (isNested ? HEIGHT : y) - height
    return (
      <rect
        class={tone}
        x={(i + GAP / 2).toFixed(2)}
        y={y.toFixed(2)}
        width={(1 - GAP).toFixed(2)}
        height={height.toFixed(2)}
      />
    )
  })
}

function NumberTable({
  id,
  series,
  readings,
  at,
  text,
}: Pick<ChartProps, 'series' | 'at'> & {
  readonly id: string
  readonly readings: readonly Reading[]
  readonly text: (value: number) => string
}) {
  const all = sums(series, at.length)
  const { zone } = useView()
  const rows = at.map((start, i) => ({ start, i })).filter(({ i }) => (all[i] ?? 0) > 0)
  if (rows.length === 0) return <p class="muted">No data in this period.</p>
  const columns: Columns<(typeof rows)[number]> = {
    From: ({ start, i }) => (
      <a href={readings[i]?.href}>
        <Time at={start} text={(instant) => localTime(instant, zone).slice(5, 16)} />
      </a>
    ),
    ...Object.fromEntries(
      series.map(({ name, values }) => [
        name,
        { class: 'number', cell: ({ i }: { readonly i: number }) => text(values[i] ?? 0) },
      ]),
    ),
  }
  return <DataTable labelledBy={id} rows={rows} columns={columns} />
}

/** Draws a webhook's attempts or an agent's messages in a row of a table. */
export function Sparkline({
  good,
  bad,
  name = 'accepted',
}: {
  readonly good: readonly number[]
  readonly bad: readonly number[]
  /** Of the good ones. */
  readonly name?: string
}) {
  const series: readonly Series[] = [
    { name, tone: 'good', values: good },
    { name: 'failed', tone: 'bad', values: bad },
  ]
  const top = Math.max(1, ...sums(series, good.length))
  const text = `${sumOf(good)} ${name}, ${sumOf(bad)} failed`
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${good.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      <line x1="0" y1={HEIGHT} x2={good.length} y2={HEIGHT} class="base" />
      {Array.from({ length: good.length }, (_, i) => bars(series, i, top))}
    </svg>
  )
}
