import { MessagingError } from '@org/agent-messaging-core'
import { isJsonObject, unknownFields } from '@org/agent-messaging-core/runtime'
import {
  DAY_RULE,
  dayIn,
  INSTANT_RULE,
  instantOf,
  type Issue,
} from '@org/agent-messaging-core/host'

/** The fields of an input. A nested object has its own. Times are texts, as in HTTP. */
export type Fields = { readonly [name: string]: true | keyof typeof TIMES | Fields }

const TIMES = {
  instant: { read: instantOf, rule: INSTANT_RULE },
  day: { read: dayIn, rule: DAY_RULE },
}

type Values = Readonly<Record<string, unknown>>

/**
 * Returns the input as the service takes it. Throws a `MessagingError` for a field that the call
 * does not have, because a mistyped option would be ignored.
 */
export function taken(input: unknown, fields: Fields): Values {
  const issues: Issue[] = []
  if (input !== undefined && !isJsonObject(input))
    issues.push({ path: 'input', message: 'must be an object' })
  const values = isJsonObject(input) ? takenOf(input, fields, issues, '') : {}
  if (issues.length > 0) throw new MessagingError({ kind: 'invalid', issues })
  return values
}

function takenOf(input: Values, fields: Fields, issues: Issue[], within: string): Values {
  const names = Object.keys(input)
  const unknown = names.filter((name) => !Object.hasOwn(fields, name))
  if (unknown.length > 0) {
    const message = unknownFields(unknown, Object.keys(fields))
    issues.push({ path: within || 'input', message })
  }
  const valueOf = (name: string): unknown => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    const [value, path] = [input[name], within ? `${within}.${name}` : name]
    if (typeof field === 'object' && isJsonObject(value)) return takenOf(value, field, issues, path)
    if (typeof field !== 'string' || value === undefined || value === null) return value
    const { read, rule } = TIMES[field]
    const time = read(value)
    if (time === undefined) issues.push({ path, message: rule })
    return time
  }
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]))
}

export const invalid = (path: string, message: string): MessagingError =>
  new MessagingError({ kind: 'invalid', issues: [{ path, message }] })
