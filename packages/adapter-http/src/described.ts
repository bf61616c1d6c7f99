import { valueRule, type Setting } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { id, instant, NO_NUL } from './schemas.js'

type Described<Input> = Readonly<Record<keyof Input & string, Setting>>

/** The fields of a request for these settings. Core checks each value. */
export const requestFields = <Input extends object>(settings: Described<Input>) =>
  mapped(settings, (setting) => {
    const { required, clearable, examples, format } = setting
    const value = format === 'uuid' ? id : format === 'date-time' ? instant : checkedValue(setting)
    const field = required ? value : clearable ? value.nullish() : value.optional()
    return field.meta({ ...textOf(setting), ...(examples && { examples }) })
  }) as { readonly [K in keyof Input]-?: z.ZodType<Input[K], Input[K]> }

const checkedValue = (setting: Setting) =>
  z
    .custom((sent) => valueRule(setting, sent) === undefined, {
      error: ({ input }) => valueRule(setting, input) ?? '',
    })
    .meta({ shown: without(texts, { ...limitsOf(setting), ...setting }) })

type List = Setting & { readonly items: Setting }

/** A list of a request, whose wrong items have their own problems. */
export const listField = <Item>(setting: List, item: z.ZodType<Item>): z.ZodType<Item[], Item[]> =>
  z
    .array(checkedValue(setting.items).meta({ shown: item }) as z.ZodType<Item, Item>, {
      error: ({ input }) => valueRule(setting, input) ?? '',
    })
    .meta({ minItems: setting.minItems })

/** The fields of an answer. Without limits, because a later version can have others. */
export const answerFields = <Input extends object>(settings: Described<Input>) =>
  mapped(settings, (setting) => {
    const value = z.custom().meta({ shown: without(textsAndLimits, setting) })
    const isAlwaysThere = setting.required ?? setting.default !== undefined
    return (isAlwaysThere ? value : value.optional()).meta(textOf(setting))
  }) as {
    readonly [K in keyof Input]-?: undefined extends Input[K]
      ? z.ZodOptional<z.ZodType<NonNullable<Input[K]>>>
      : z.ZodType<Input[K]>
  }

const mapped = (settings: Readonly<Record<string, Setting>>, field: (of: Setting) => z.ZodType) =>
  Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, field(setting)]))

const TEXTS = 'required|clearable|default|description|unset|unit|examples|label'
const texts = new RegExp(`^(${TEXTS})$`)
const textsAndLimits = new RegExp(`^(${TEXTS}|m(in|ax).*)$`)

const without = (words: RegExp, schema: object): object =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (words.test(key) ? undefined : value)),
  ) as object

const limitsOf = ({ type, enum: words, format }: Setting) =>
  type === 'string' && !words ? { minLength: 1, ...(!format && { pattern: NO_NUL }) } : {}

function textOf({ description: about, default: initial, unset }: Setting) {
  const description = [
    about,
    initial !== undefined && `Initially ${initial}.`,
    unset !== undefined && `If unset: ${unset}.`,
  ]
    .filter(Boolean)
    .join(' ')
  return description === '' ? {} : { description }
}
