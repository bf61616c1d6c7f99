import type { Instant } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { useContext } from 'hono/jsx'
import { fieldTime, type ListFilter } from './filter.js'
import { ZoneContext } from './zone.js'

type Choice = 'status' | 'webhook' | 'event' | 'answer'
type Options = readonly (readonly [value: string, text: string])[]

const LABELS: Readonly<Record<Choice, string>> = {
  status: 'Status',
  webhook: 'Webhook',
  event: 'Event',
  answer: 'Last answer',
}

type FieldsProps = {
  readonly filter: ListFilter
  readonly choices: Readonly<Record<Choice, Options>>
  /** The text of the first option, which does not filter. Default: any. */
  readonly all?: Partial<Record<Choice, string>>
  /** The choices that must have a value. */
  readonly required?: readonly Choice[]
}

/** The fields of a filter. */
export function FilterFields({ filter, choices, all = {}, required = [] }: FieldsProps) {
  const fields = (Object.keys(choices) as Choice[]).map((name) => (
    <div>
      <label for={name}>{LABELS[name]}</label>
      <select id={name} name={name}>
        {!required.includes(name) && <option value="">{all[name] ?? 'any'}</option>}
        {choices[name].map(([value, text]) => (
          <option value={value} selected={filter[name] === value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  ))
  return (
    <>
      {fields}
      <TimeRange range={filter} />
    </>
  )
}

const PERIODS = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 }

/** Links that show the list since a time, with the rest of the filter. */
export const Periods = ({ c, now }: { readonly c: Context; readonly now: Instant }) => (
  <p class="periods">
    Last{' '}
    {Object.entries(PERIODS).map(([name, ms], at) => (
      <>
        {at > 0 && ', '}
        <a href={pathSince(c, now - ms)}>{name}</a>
      </>
    ))}
  </p>
)

function pathSince(c: Context, from: Instant): string {
  const { pathname, searchParams } = new URL(c.req.url)
  for (const name of ['cursor', 'notice', 'to']) searchParams.delete(name)
  searchParams.set('from', toIso(from))
  return `${pathname}?${searchParams.toString()}`
}

type RangeProps = {
  readonly range: { readonly from?: number | undefined; readonly to?: number | undefined }
}

/** The fields of a time range in the viewer's zone. */
export function TimeRange({ range }: RangeProps) {
  const zone = useContext(ZoneContext)
  return (
    <>
      {(['from', 'to'] as const).map((name) => (
        <div>
          <label for={name}>
            {name === 'from' ? 'From' : 'To'} <span class="muted">({zone})</span>
          </label>
          <input id={name} name={name} type="datetime-local" value={fieldTime(range[name], zone)} />
        </div>
      ))}
    </>
  )
}
