import type { Setting, Settings } from '@org/agent-messaging-core/host'
import { toIso } from '@org/agent-messaging-core/storage'
import type { Child, JSX } from 'hono/jsx'
import type { PageRequest } from '../context.js'
import { type Form, textIn } from './input.js'
import { Problem, Unfold } from './parts.js'
import { localIso, useView } from './zone.js'

/** Describes a field of a form. The other attributes are those of its input. */
export type Field = Omit<JSX.IntrinsicElements['input'], 'label'> & {
  readonly label: Child
  /** The options of a selection. */
  readonly choices?: readonly Choice[]
  /** The text of the first option, which selects nothing. */
  readonly any?: string
  /** The checkboxes of a set. */
  readonly set?: readonly (readonly [value: string, text: Child])[]
  /** The value of a single checkbox. */
  readonly check?: string
  /** The rows of a text area. */
  readonly rows?: number
  readonly hint?: string
  /** Why the value was refused. */
  readonly problem?: string | undefined
}
type Choice = string | number | readonly [value: string | number, text: string]

type Value = string | number | readonly string[] | undefined

type FieldsProps = {
  readonly fields: Readonly<Record<string, Field | false>>
  readonly values?: Readonly<Record<string, Value>> | undefined
}

/** Shows the fields of a form, with their values by the same names. */
export const Fields = ({ fields, values = {} }: FieldsProps) => (
  <>
    {Object.entries(fields).map(
      ([name, field]) => field && <FieldOf name={name} field={field} value={values[name]} />,
    )}
  </>
)

type FieldProps = { readonly name: string; readonly field: Field; readonly value: Value }

function FieldOf({ name, field, value }: FieldProps) {
  const { label, choices, any, set, check, hint, problem, ...attributes } = field
  const { zone } = useView()
  if (check !== undefined)
    return (
      <Check {...attributes} name={name} value={check} checked={!!value}>
        {label}
      </Check>
    )
  const id = field.id ?? name
  const isRefused = problem !== undefined
  const described = isRefused || hint !== undefined ? `${id}-problem` : undefined
  const remark = described && (
    <p
      class={isRefused ? 'problem' : 'muted'}
      id={described}
      role={isRefused ? 'alert' : undefined}
    >
      {problem ?? hint}
    </p>
  )
  if (set)
    return (
      <fieldset aria-describedby={described}>
        <legend>{label}</legend>
        {set.map(([one, text]) => (
          <Check
            name={name}
            value={one}
            checked={[value].flat().includes(one)}
            {...attributes}
            id={undefined}
          >
            {text}
          </Check>
        ))}
        {remark}
      </fieldset>
    )
  const shared = {
    ...attributes,
    id,
    name,
    'aria-invalid': isRefused ? ('true' as const) : undefined,
    'aria-describedby': described,
  }
  const isTime = field.type === 'datetime-local'
  return (
    <div>
      <label for={id}>
        {label}
        {isTime && <span class="muted"> ({zone})</span>}
      </label>
      {choices ? (
        <select id={id} name={name}>
          {any !== undefined && <option value="">{any}</option>}
          {choices
            .map((choice) => (typeof choice === 'object' ? choice : ([choice, choice] as const)))
            .map(([one, text]) => (
              <option value={one} selected={value === one}>
                {text}
              </option>
            ))}
        </select>
      ) : field.rows ? (
        <textarea {...shared}>{value}</textarea>
      ) : (
        <input {...shared} value={isTime ? fieldTime(value as number, zone) : value} />
      )}
      {remark}
    </div>
  )
}

/** The values of a form that nobody changes. One that is undefined is left out. */
export const Hidden = ({
  values,
}: {
  readonly values: Readonly<Record<string, string | undefined>>
}) => (
  <>
    {Object.entries(values).map(
      ([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />,
    )}
  </>
)

export const Check = ({ children, ...attributes }: JSX.IntrinsicElements['input']) => (
  <label class="check">
    <input type="checkbox" {...attributes} />
    {children}
  </label>
)

/** Returns the value for a `datetime-local` field. */
const fieldTime = (at: number | undefined, zone: string) =>
  at === undefined ? '' : localIso(at, zone).slice(0, 16)

/** The fields of a time range in the viewer's zone. */
export const TIME_RANGE = {
  from: { label: 'From', type: 'datetime-local' },
  to: { label: 'To', type: 'datetime-local' },
} as const

/**
 * A form whose fields are part of the address, so that a reader can share the result. A phone shows
 * a button instead, which opens the form.
 */
export function FilterForm({ path, ...fields }: FieldsProps & { readonly path: string }) {
  const { fields: shown, values = {} } = fields
  const used = Object.keys(shown).filter((name) => (values[name] ?? '') !== '').length
  return (
    <>
      <Unfold id="filter">Filter{used > 0 && ` (${used})`}</Unfold>
      <form id="filter" popover="auto" method="get" action={path} class="filters card fold">
        <Fields {...fields} />
        <p class="buttons">
          <button class="primary">Filter</button>
          <a href={path}>Clear</a>
        </p>
      </form>
    </>
  )
}

type FormProps = Partial<FieldsProps> & {
  /** Default: the address of the page. */
  readonly action?: string
  /** Shown before the fields. */
  readonly intro?: Child
  readonly problem?: string | undefined
  readonly button: Child
  readonly class?: string
  /** The server checks the form, and shows all problems at once. */
  readonly novalidate?: boolean
  /** Shown behind the fields. */
  readonly children?: Child
  /** Shown beside the button. */
  readonly beside?: Child
}

/** A form that changes something. */
export const PostForm = ({
  action,
  intro,
  problem,
  button,
  class: look = 'stack',
  novalidate,
  children,
  beside,
  fields = {},
  values,
}: FormProps) => (
  <form method="post" action={action} class={look} novalidate={novalidate}>
    {intro}
    <Problem text={problem} />
    <Fields fields={fields} values={values} />
    {children}
    <p class="buttons">
      <button class="primary">{button}</button>
      {beside}
    </p>
  </form>
)

const PERIODS = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 }

/** Links that show the list since a time, with the rest of the filter. */
export function Periods() {
  const { c, now } = useView()
  return (
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
}

function pathSince(c: PageRequest, from: number) {
  const { pathname, searchParams } = new URL(c.req.url)
  for (const name of ['cursor', 'notice', 'to']) searchParams.delete(name)
  searchParams.set('from', toIso(from))
  return `${pathname}?${searchParams.toString()}`
}

/** The texts of a form for the settings that have a label. The default has an empty text. */
export type Texts = Readonly<Record<string, string>>

/** Maps the settings that have a label. An object has a form of its own. */
const mapped = <T,>(settings: Settings, map: (setting: Setting, name: string) => T) =>
  Object.fromEntries(
    Object.entries(settings)
      .filter(([, { label, type }]) => label && type !== 'object')
      .map(([name, setting]) => [name, map(setting, name)]),
  )

export const textsIn = (settings: Settings, form: Form) =>
  mapped(settings, (_, name) => textIn(form, name).trim())
export const textsOf = (settings: Settings, values: Form) =>
  mapped(settings, (setting, name) => textOf(setting, values[name]))
/** The service refuses a text of another type. */
export const settingsIn = (settings: Settings, texts: Texts) =>
  mapped(settings, (setting, name) => valueIn(setting, texts[name]))

/** The text of a list without items. */
const NONE = 'none'

function textOf({ default: initial }: Setting, value: unknown) {
  if (value === initial || value === undefined) return ''
  return value === true ? 'yes' : [value].flat().map(String).join(', ') || NONE
}

function valueIn({ type, default: initial }: Setting, text = ''): unknown {
  if (text === '') return initial ?? null
  if (type === 'boolean') return text === 'yes'
  if (type === 'array') return text === NONE ? [] : text.split(',').map(Number)
  return type === 'string' ? text : Number(text)
}

export const titleOf = ({ label = '', unit }: Setting) =>
  `${label.charAt(0).toUpperCase()}${label.slice(1)}${unit ? ` in ${unit}` : ''}`

/** The second of two choices is a checkbox. More choices are a selection. */
export const fieldsOfSettings = (settings: Settings): Readonly<Record<string, Field>> =>
  mapped(settings, (setting) => {
    const { type, enum: choices, default: initial, maxLength, unset, examples = [] } = setting
    const label = titleOf(setting)
    if (choices && choices.length > 2)
      return { label, any: String(initial), choices: choices.filter((one) => one !== initial) }
    return choices || type === 'boolean'
      ? { label, check: choices?.[1] ?? 'yes' }
      : {
          label: type === 'array' ? `${label}, or ${NONE}` : label,
          maxlength: maxLength,
          placeholder: textOf(setting, examples[0]) || unset,
        }
  })
