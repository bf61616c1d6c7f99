import { isJsonObject, type Json, type JsonObject } from '../values/json.js'
import { parseJsonText } from '../values/json-text.js'
import type { Question } from './message-input.js'

/** A field of a form for an answer. Its text becomes a part of the answer. */
export type AnswerField = {
  readonly name: string
  readonly label: string
  readonly kind: 'choice' | 'boolean' | 'number' | 'text' | 'json'
  readonly choices: readonly string[]
  readonly isRequired: boolean
}

const ROOT = 'value'
const BOOLEANS = ['true', 'false']

type Asked = Pick<Question, 'options' | 'schema'>

/** Returns the fields of a form: one for each property of an object, or one for the answer. */
export function answerFields({ options, schema }: Asked): readonly AnswerField[] {
  if (options) return [fieldOf(ROOT, { enum: [...options] }, 'Answer', true)]
  if (!schema) return [fieldOf(ROOT, { type: 'string' }, 'Answer', true)]
  const properties = propertiesOf(schema)
  if (!properties) return [fieldOf(ROOT, schema, 'Answer', true)]
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  return Object.entries(properties).map(([name, property]) =>
    fieldOf(`${ROOT}.${name}`, isJsonObject(property) ? property : {}, name, required.has(name)),
  )
}

/** Returns the answer in the texts of a form. A text that cannot be read stays a text. */
export function answerOfForm(asked: Asked, textOf: (name: string) => string | undefined): Json {
  const values = answerFields(asked).flatMap((field) => {
    const text = textOf(field.name) ?? ''
    return text === '' && !field.isRequired ? [] : [[field.name, valueOf(field, text)] as const]
  })
  const [first] = values
  if (first?.[0] === ROOT) return first[1]
  return Object.fromEntries(values.map(([name, value]) => [name.slice(ROOT.length + 1), value]))
}

const propertiesOf = (schema: JsonObject): JsonObject | undefined =>
  schema['type'] === 'object' && isJsonObject(schema['properties'])
    ? schema['properties']
    : undefined

function fieldOf(
  name: string,
  schema: JsonObject,
  label: string,
  isRequired: boolean,
): AnswerField {
  const { title, type, enum: values } = schema
  const field = { name, label: typeof title === 'string' ? title : label, isRequired, choices: [] }
  if (Array.isArray(values) && values.every((value) => typeof value === 'string'))
    return { ...field, kind: 'choice', choices: values }
  if (type === 'boolean') return { ...field, kind: 'boolean', choices: BOOLEANS }
  if (type === 'number' || type === 'integer') return { ...field, kind: 'number' }
  return { ...field, kind: type === 'string' ? 'text' : 'json' }
}

function valueOf({ kind }: AnswerField, text: string): Json {
  if (kind === 'text' || kind === 'choice') return text
  try {
    return parseJsonText(text)
  } catch {
    return text
  }
}
