import { valueRule, type Setting } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { NO_NUL } from './schemas.js'

type Described<Input> = Readonly<Record<keyof Input & string, Setting>>

/** The fields of a request for these settings. Core checks each value. */
export const requestFields = <Input extends object>(settings: Described<Input>) =>
  mapped(settings, (setting) => {
    const value = z
      .custom((sent) => valueRule(setting, sent) === undefined, {
        error: ({ input }) => valueRule(setting, input) ?? '',
      })
      .meta({ shown: without(texts, { ...limitsOf(setting), ...setting }) })
    const { required, clearable, examples } = setting
    const field = required ? value : clearable ? value.nullish() : value.optional()
    return field.meta({ description: textOf(setting), ...(examples && { examples }) })
  }) as { readonly [K in keyof Input]-?: z.ZodType<Input[K], Input[K]> }

/** The fields of an answer. Without limits, because a later version can have others. */
export const answerFields = <Input extends object>(settings: Described<Input>) =>
  mapped(settings, (setting) => {
    const value = z.custom().meta({ shown: without(textsAndLimits, setting) })
    const isAlwaysThere = setting.required ?? setting.default !== undefined
    return (isAlwaysThere ? value : value.optional()).meta({ description: textOf(setting) })
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

const textOf = ({ description, default: initial, unset }: Setting): string =>
  [
    description,
    initial !== undefined && `Initially ${initial}.`,
    unset !== undefined && `If unset: ${unset}.`,
  ]
    .filter(Boolean)
    .join(' ')
