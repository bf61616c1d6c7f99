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
  answerOfForm(input, (name) => textOf(content[name]))

function propertyOf({
  kind,
  label: title,
  choices,
}: AnswerField): FormSchema['properties'][string] {
  switch (kind) {
    case 'choice':
      return { type: 'string', title, enum: [...choices] }
    case 'boolean':
    case 'number':
      return { type: kind, title }
    case 'json':
      return { type: 'string', title, description: 'JSON' }
    case 'text':
      return { type: 'string', title }
  }
}

const textOf = (value: unknown): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
