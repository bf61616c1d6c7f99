import {
  inputRequired,
  type ElicitRequestFormParams,
  type InputRequest,
} from '@modelcontextprotocol/server'
import type { Json } from '@org/agent-messaging-core'
import { answerFields, answerOfForm, type AnswerField } from '@org/agent-messaging-core/host'
import type { MessageInput } from '@org/agent-messaging-core/storage'

type FormSchema = ElicitRequestFormParams['requestedSchema']

export const DECLINED =
  'The user did not answer. The question stays open. Answer it later with answer_input.'

/** Returns the request with which a client asks its user. */
export const formRequest = (input: MessageInput, text = input.question): InputRequest =>
  inputRequired.elicit({ message: text, requestedSchema: formOf(input) })

/** MCP allows only flat forms. */
function formOf(input: MessageInput): FormSchema {
  const fields = answerFields(input)
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [keyOf(field.name), propertyOf(field)])),
    required: fields.filter(({ isRequired }) => isRequired).map(({ name }) => keyOf(name)),
  }
}

/** Returns the answer of an accepted form. The service checks it against the question. */
export const answerOf = (input: MessageInput, content: Readonly<Record<string, unknown>>): Json =>
  answerOfForm(input, (name) => {
    const key = keyOf(name)
    return Object.hasOwn(content, key) ? [content[key]].flat().map(textOf) : []
  }).value

/** The properties of an object have their own names. */
const keyOf = (name: string): string => name.replace(/^value\./, '')

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
