import type { Instant } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/storage'
import { localTime, useView } from './zone.js'

export type Series = {
  readonly name: string
  readonly tone: 'good' | 'bad' | 'busy'
  readonly values: readonly number[]
  /** The list that the total counts. */
  readonly href?: string | undefined
}
type ChartProps = {
  readonly title: string
  readonly series: readonly Series[]
  /** The start of each bucket. */
  readonly at: readonly Instant[]
  readonly unit?: string
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
export function Chart({ title, series, at, unit = '' }: ChartProps) {
  const top = Math.max(1, ...sums(series, at.length))
  const [first = 0] = at
  const middle = at[at.length / 2] ?? 0
  const { zone } = useView()
  const isOfDays = 2 * (middle - first) > DAY_MS
  const axisTime = (instant: Instant) =>
    isOfDays ? localTime(instant, zone).slice(5, 10) : localTime(instant, zone).slice(11, 16)
  const readings = at.map((start, i) => {
    const values = series.map(({ name, values: all }) => `${name} ${all[i] ?? 0}${unit}`)
    return `${localTime(start, zone).slice(5, 16)}: ${values.join(', ')}`
  })
  return (
    <figure class="chart card">
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">
          {series.map(({ name, tone, values, href }) => (
            <li class={tone}>
              {name}
              {unit === '' && <Total values={values} href={href} />}
            </li>
          ))}
        </ul>
      </figcaption>
      <div
        class="plot"
        tabindex={0}
        role="group"
        aria-label={`${title}. The arrow keys read out the values.`}
      >
        <span class="scale" aria-hidden="true">
          {top.toLocaleString('en')}
          {unit}
        </span>
        <Bars title={title} series={series} readings={readings} top={top} />
        <p class="reading" role="status" />
      </div>
      <div class="axis" aria-hidden="true">
        <span>{axisTime(first)}</span>
        <span>{axisTime(middle)}</span>
        <span>now</span>
      </div>
      <details>
        <summary>Show as a table</summary>
        <NumberTable title={title} series={series} at={at} unit={unit} />
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
}: {
  readonly title: string
  readonly series: readonly Series[]
  /** The values of each bucket as a text. */
  readonly readings: readonly string[]
  readonly top: number
}) {
  const { length } = readings
  const text = series
    .map(({ name, values }) => `${name} at most ${Math.max(0, ...values)}`)
    .join(', ')
  return (
    <svg
      viewBox={`0 0 ${length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${title}: ${text}. The table below has the numbers.`}
    >
      <line x1="0" y1={HEIGHT} x2={length} y2={HEIGHT} class="base" />
      {readings.map((reading, i) => (
        <g data-reading={reading}>
          <title>{reading}</title>
          <rect class="hit" x={i} y="0" width="1" height={HEIGHT} />
          {stacked(series, i, top)}
        </g>
      ))}
    </svg>
  )
}

function stacked(series: readonly Series[], i: number, top: number) {
  let y = HEIGHT
  return series.map(({ tone, values }) => {
    const value = values[i] ?? 0
    if (value === 0) return null
    // A single failure among thousands stays visible.
    const height = Math.max(1.5, (value / top) * HEIGHT)
    y -= height
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
  title,
  series,
  at,
  unit,
}: Required<Pick<ChartProps, 'title' | 'series' | 'at' | 'unit'>>) {
  const all = sums(series, at.length)
  const { zone } = useView()
  const rows = at.map((start, i) => ({ start, i })).filter(({ i }) => (all[i] ?? 0) > 0)
  if (rows.length === 0) return <p class="muted">No data in this period.</p>
  return (
    <table>
      <caption class="hidden">{title}</caption>
      <thead>
        <tr>
          <th scope="col">From</th>
          {series.map(({ name }) => (
            <th scope="col" class="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ start, i }) => (
          <tr>
            <th scope="row">
              <time datetime={toIso(start)} title={toIso(start)}>
                {localTime(start, zone).slice(5, 16)}
              </time>
            </th>
            {series.map(({ values }) => (
              <td class="number">
                {values[i] ?? 0}
                {unit}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Draws a webhook's attempts in a row of a table. */
export function Sparkline({
  good,
  bad,
}: {
  readonly good: readonly number[]
  readonly bad: readonly number[]
}) {
  const series: readonly Series[] = [
    { name: 'accepted', tone: 'good', values: good },
    { name: 'failed', tone: 'bad', values: bad },
  ]
  const top = Math.max(1, ...sums(series, good.length))
  const [accepted = 0, failed = 0] = series.map(({ values }) => sumOf(values))
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${good.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${accepted} accepted, ${failed} failed`}
    >
      <title>{`${accepted} accepted, ${failed} failed`}</title>
      <line x1="0" y1={HEIGHT} x2={good.length} y2={HEIGHT} class="base" />
      {Array.from({ length: good.length }, (_, i) => stacked(series, i, top))}
    </svg>
  )
}
