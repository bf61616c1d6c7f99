import { isJsonObject, type Json, type JsonObject } from '../values/json.js'
import { parseJsonText } from '../values/json-text.js'
import { answerProblem, type Question } from './message-input.js'

/** A field of a form for an answer. Its texts become a part of the answer. */
export type AnswerField = {
  /** `value`, and behind dots the names of the properties that lead to the part. */
  readonly name: string
  readonly label: string
  readonly description?: string
  /** `line` is a text of one line. A person selects any number of `choices`. */
  readonly kind: 'choice' | 'choices' | 'number' | 'date' | 'text' | 'line' | 'list' | 'json'
  readonly choices: readonly Choice[]
  readonly isRequired: boolean
  /** The answer must be this, such as `a whole number, at least 1`. Absent if it can be any text. */
  readonly needs?: string
  /** The texts of the schema's default. */
  readonly initial: readonly string[]
}
type Choice = { readonly text: string; readonly label: string; readonly value: Json }

/** The texts of a form by the names of its fields. A field can have several texts. */
export type FormTexts = (name: string) => readonly string[]

/** `problems` are by the names of their fields. */
export type ReadAnswer = {
  readonly value: Json
  readonly problems: Readonly<Record<string, string>>
}

type Asked = Pick<Question, 'options' | 'schema'>

type Leaf = { readonly field: AnswerField; readonly schema: JsonObject }
type Property = { readonly key: string; readonly part: Part; readonly isRequired: boolean }
type Part = Leaf | { readonly properties: readonly Property[] }

const REQUIRED = 'This needs an answer.'

/** Returns the fields of a form: one for each property of an object, or one for the answer. */
export const answerFields = (asked: Asked): readonly AnswerField[] =>
  leavesOf(rootOf(asked)).map(({ field }) => field)

/** Returns the answer in the texts of a form, and all that is wrong with its fields. */
export function answerOfForm(asked: Asked, textsOf: FormTexts): ReadAnswer {
  const problems: Record<string, string> = {}
  const givenFor = ({ field: { name } }: Leaf) =>
    textsOf(name)
      .map((text) => text.replaceAll('\r\n', '\n'))
      .filter((text) => text.trim() !== '')

  function read(part: Part, isNeeded: boolean): Json | undefined {
    if (!isNeeded && !leavesOf(part).some((leaf) => givenFor(leaf).length > 0)) return undefined
    if ('properties' in part) {
      const entries = part.properties.map(({ key, part: inner, isRequired }) => [
        key,
        read(inner, isRequired),
      ])
      return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject
    }
    const { field, schema } = part
    const texts = givenFor(part)
    if (texts.length === 0 && !isList(field)) {
      if (typesOf(schema).includes('null')) return null
      problems[field.name] = REQUIRED
      return undefined
    }
    const value = valueOf(field, schema, texts)
    const problem = answerProblem({ schema }, value)
    if (problem !== undefined) problems[field.name] = problemText(part, value, problem)
    return value
  }
  const value = read(rootOf(asked), true)
  return { value: value === undefined ? '' : value, problems }
}

function rootOf({ options, schema }: Asked): Part {
  const { title } = schema ?? {}
  const label = typeof title === 'string' ? title : 'Answer'
  return partOf(
    options ? { enum: [...options] } : (schema ?? { type: 'string' }),
    'value',
    label,
    true,
  )
}

function partOf(given: Json | undefined, name: string, label: string, isRequired: boolean): Part {
  const schema = isJsonObject(given) ? given : {}
  if (schema['type'] !== 'object' || !isJsonObject(schema['properties']))
    return leafOf(schema, name, label, isRequired)
  const required = new Set([schema['required']].flat())
  const properties = Object.entries(schema['properties']).map(([key, inner]) => {
    const { title = key } = isJsonObject(inner) ? inner : {}
    const own = typeof title === 'string' ? title : key
    const isOwn = required.has(key)
    return {
      key,
      part: partOf(
        inner,
        `${name}.${key.replaceAll('~', '~0').replaceAll('.', '~1')}`,
        name === 'value' ? own : `${label}: ${own}`,
        isRequired && isOwn,
      ),
      isRequired: isOwn,
    }
  })
  return { properties }
}

function leafOf(schema: JsonObject, name: string, label: string, isRequired: boolean): Leaf {
  const { description, default: initial } = schema
  const form = formOf(schema)
  const isAnswered = typesOf(schema).includes('null') || (isList(form) && !schema['minItems'])
  const field = {
    ...form,
    name,
    label,
    ...(typeof description === 'string' && { description }),
    isRequired: isRequired && !isAnswered,
    initial: initial === undefined ? [] : [initial].flat().map(textOf),
  }
  return { field, schema }
}

const leavesOf = (part: Part): readonly Leaf[] =>
  'properties' in part ? part.properties.flatMap(({ part: inner }) => leavesOf(inner)) : [part]

type Form = Pick<AnswerField, 'kind' | 'choices' | 'needs'>

const isList = ({ kind }: Pick<AnswerField, 'kind'>) => kind === 'list' || kind === 'choices'

/** Returns how a person gives a value of the schema. */
function formOf(schema: JsonObject): Form {
  const { format, items } = schema
  const choices = choicesOf(schema)
  if (choices) return { kind: 'choice', choices, needs: 'one of the choices' }
  const form = (kind: AnswerField['kind'], needs?: string): Form => {
    const limited = [needs ?? 'a text', ...limitsOf(schema)]
    return { kind, choices: [], ...((needs ?? limited[1]) && { needs: limited.join(', ') }) }
  }
  const [type, ...others] = typesOf(schema).filter((one) => one !== 'null')
  if (others.length > 0) return form('json', 'JSON')
  switch (type) {
    case 'integer':
      return form('number', 'a whole number')
    case 'number':
      return form('number', 'a number')
    case 'string': {
      const example =
        typeof format === 'string' && Object.hasOwn(EXAMPLES, format) && EXAMPLES[format]
      if (!example) return form('text')
      return form(format === 'date' ? 'date' : 'line', example)
    }
    case 'array': {
      if (!isJsonObject(items) || schema['prefixItems']) return form('json', 'a list as JSON')
      const item = formOf(items)
      if (item.kind === 'choice')
        return { ...form('choices', 'a selection'), choices: item.choices }
      if (isList(item) || item.kind === 'json') return form('json', 'a list as JSON')
      return form('list', `a list with one item per line, each ${item.needs ?? 'a text'}`)
    }
    default:
      return form('json', 'JSON')
  }
}

const typesOf = ({ type }: JsonObject): readonly unknown[] =>
  type === undefined ? [] : [type].flat()

const EXAMPLES: Readonly<Record<string, string>> = {
  date: 'a date such as 2026-12-31',
  time: 'a time such as 14:30:00Z',
  'date-time': 'a date and time such as 2026-12-31T14:30:00Z',
  duration: 'a duration such as P3DT12H',
  email: 'an e-mail address such as ada@example.com',
  hostname: 'a host name such as www.example.com',
  ipv4: 'an IP address such as 192.0.2.1',
  ipv6: 'an IP address such as 2001:db8::1',
  uri: 'an address such as https://example.com/',
  url: 'an address such as https://example.com/',
  uuid: 'an id such as 0198b2c4-5555-7a1b-8c2d-3e4f5a6b7c8d',
}

const LIMITS: Readonly<Record<string, string>> = {
  minimum: 'at least #',
  exclusiveMinimum: 'above #',
  maximum: 'at most #',
  exclusiveMaximum: 'below #',
  multipleOf: 'a multiple of #',
  minLength: 'at least # characters',
  maxLength: 'at most # characters',
  minItems: 'at least # items',
  maxItems: 'at most # items',
}
/** A text that breaks the rules of other keywords needs the reason of the check. */
const EXPLAINED = new Set([
  ...Object.keys(LIMITS),
  ...['type', 'title', 'description', 'default', 'examples', 'format', 'items', 'uniqueItems'],
])

const limitsOf = (schema: JsonObject): readonly string[] => [
  ...Object.entries(LIMITS).flatMap(([keyword, text]) =>
    typeof schema[keyword] === 'number'
      ? text.replace('#', String(schema[keyword])).replace(/ 1 (item|character)s$/, ' 1 $1')
      : [],
  ),
  ...(schema['uniqueItems'] === true ? ['no item twice'] : []),
]

/** Returns the only values that the schema allows, if the schema lists them. */
function choicesOf(schema: JsonObject): readonly Choice[] | undefined {
  const { enum: values, oneOf, anyOf = oneOf } = schema
  if (Array.isArray(values)) return values.map((value) => choiceOf(value))
  if (Array.isArray(anyOf) && anyOf.every((one) => isJsonObject(one) && one['const'] !== undefined))
    return (anyOf as JsonObject[]).map(({ const: value, title }) => choiceOf(value as Json, title))
  return schema['type'] === 'boolean' ? [choiceOf(true, 'Yes'), choiceOf(false, 'No')] : undefined
}

const choiceOf = (value: Json, title?: Json): Choice => ({
  text: textOf(value),
  label: typeof title === 'string' ? title : textOf(value),
  value,
})

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** A text that cannot be read stays a text. The schema refuses it. */
function valueOf({ kind, choices }: Form, { items }: JsonObject, texts: readonly string[]): Json {
  const [text = ''] = texts
  const chosen = (one: string): Json => {
    const found = choices.find((choice) => choice.text === one)
    return found ? found.value : one
  }
  switch (kind) {
    case 'choice':
      return chosen(text)
    case 'choices':
      return texts.map(chosen)
    case 'list': {
      const item = formOf(items as JsonObject)
      const lines = texts.flatMap((one) => one.split('\n')).filter((line) => line.trim() !== '')
      return lines.map((line) => valueOf(item, {}, [line.trim()]))
    }
    case 'text':
      return text
    case 'line':
    case 'date':
      return text.trim()
    default:
      try {
        return parseJsonText(text)
      } catch {
        return text
      }
  }
}

function problemText({ field, schema }: Leaf, value: Json, problem: string): string {
  const keywords = [schema, schema['items'] ?? {}].flatMap((one) => Object.keys(one as JsonObject))
  const isExplained =
    field.kind === 'json'
      ? typeof value === 'string'
      : field.choices.length > 0 || keywords.every((keyword) => EXPLAINED.has(keyword))
  return isExplained && field.needs !== undefined
    ? `This must be ${field.needs}.`
    : `This ${problem.replace(/\.$/, '')}.`
}
