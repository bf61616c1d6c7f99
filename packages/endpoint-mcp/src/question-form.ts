import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { Json } from '@org/agent-messaging-core'
import { answerFields, answerOfForm, type AnswerField } from '@org/agent-messaging-core/host'
import type { MessageInput } from '@org/agent-messaging-core/storage'

type FormSchema = ElicitRequestFormParams['requestedSchema']

/** Returns the form in which a client asks its user. MCP allows only flat forms. */
export function formOf(input: MessageInput): FormSchema {
  const fields = answerFields(input)
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, propertyOf(field)])),
    required: fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  }
}

/** Returns the answer of an accepted form. The service checks it against the question. */
export const answerOf = (input: MessageInput, content: Readonly<Record<string, unknown>>): Json =>
  answerOfForm(input, (name) => [content[name] ?? []].flat().map(textOf)).value

function propertyOf(field: AnswerField): FormSchema['properties'][string] {
  const { kind, label: title, choices, description, needs } = field
  const texts = choices.map(({ text }) => text)
  switch (kind) {
    case 'choice':
      return choices.every(({ value }) => typeof value === 'boolean')
        ? { type: 'boolean', title }
        : { type: 'string', title, enum: texts }
    case 'choices':
      return { type: 'array', title, items: { type: 'string', enum: texts } }
    case 'number':
      return { type: 'number', title }
    default: {
      const help = [description, needs].filter((text) => text !== undefined).join(': ')
      return { type: 'string', title, ...(help !== '' && { description: help }) }
    }
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)
