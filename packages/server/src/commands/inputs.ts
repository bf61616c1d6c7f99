import type { Message, NewInputAnswer, OpenInput } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { firstOf, onBackend, type Backend } from './backend.js'
import { orRefusal } from './client-error.js'
import { messageWith } from './messages.js'
import { example, wholeNumber, withBackend, type BackendOptions } from './options.js'
import { print, table } from './output.js'

type ListOptions = BackendOptions & { readonly endUser?: string; readonly limit: number }
type AnswerOptions = BackendOptions & { readonly endUser?: string }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'

export function addInputs(program: Command): void {
  const inputs = program.command('inputs').description('answer questions of agents to people')
  withBackend(inputs.command('list'))
    .description('list the messages that wait for a person, newest first')
    .option('--end-user <id>', 'only messages on behalf of this end user')
    .option('--limit <number>', 'maximum number of messages', wholeNumber(1), 20)
    .addHelpText('after', example('agent-messaging inputs list'))
    .action((options: ListOptions) => onBackend(options, (backend) => list(backend, options)))

  withBackend(inputs.command('answer <message-id> <value>'))
    .description('answer the open question of a message')
    .option('--end-user <id>', 'answer as this end user instead of as the service')
    .addHelpText(
      'after',
      example(
        `agent-messaging inputs answer ${ID} approve`,
        `agent-messaging inputs answer ${ID} '{"order":7}' --end-user customer-42`,
      ),
    )
    .action((id: string, value: string, options: AnswerOptions) =>
      onBackend(options, (backend) => answer(backend, id, value, options)),
    )

  withBackend(inputs.command('withdraw <message-id>'))
    .description('withdraw the open question of a message, which then fails')
    .addHelpText('after', example(`agent-messaging inputs withdraw ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async (backend) => {
        const failure = `cannot withdraw the question of message ${id}`
        const { agentId, input } = await asking(backend, id, failure)
        const withdrawn = backend.client.inputs.withdraw(agentId, id, input.id)
        const message = await orRefusal(withdrawn, failure)
        print(options.json, message, `Message ${id} is now ${message.state}.`)
      }),
    )
}

async function list({ client }: Backend, { json, endUser, limit }: ListOptions): Promise<void> {
  const filter = endUser === undefined ? {} : { endUserId: endUser }
  const found = await firstOf(client.inputs.list(filter), limit, 'cannot list the questions')
  print(json, found, table(found.map(row), 'No open questions.'))
}

const row = ({ messageId, input }: Message) => ({
  message: messageId,
  question: input?.question ?? '',
  answer: input?.options?.join(' | ') ?? answerType(input?.schema),
  expiresAt: input?.expiresAt ?? '',
})

/** `integer`, or `JSON` for a schema without a single type. */
const answerType = (schema: OpenInput['schema']): string => {
  if (schema === undefined) return 'text'
  return typeof schema['type'] === 'string' ? schema['type'] : 'JSON'
}

async function answer(
  backend: Backend,
  id: string,
  text: string,
  { json, endUser }: AnswerOptions,
): Promise<void> {
  const failure = `cannot answer the question of message ${id}`
  const { agentId, input } = await asking(backend, id, failure)
  const answered = backend.client.messages.answer(agentId, id, {
    inputId: input.id,
    value: valueOf(text, input.schema !== undefined && input.options === undefined),
    ...(endUser !== undefined && { executionPrincipal: { type: 'end_user', endUserId: endUser } }),
  })
  const message = await orRefusal(answered, failure)
  print(json, message, `Message ${id} has its answer and is now ${message.state}.`)
}

/** A question with a schema takes JSON. A text that is not JSON is sent as a text. */
function valueOf(text: string, isJson: boolean): NewInputAnswer['value'] {
  if (!isJson) return text
  try {
    return JSON.parse(text) as NewInputAnswer['value']
  } catch {
    return text
  }
}

async function asking(backend: Backend, id: string, failure: string) {
  const { agentId, input } = await messageWith(backend, id, failure)
  if (!input) throw new OperatorError(`${failure}: the message has no open question`)
  return { agentId, input }
}
