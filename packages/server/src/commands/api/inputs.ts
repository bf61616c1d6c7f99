import type { Message, NewInputAnswer, OpenInput } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { firstOf, type Backend } from '../backend.js'
import { Reason } from '../client-error.js'
import { addApiCommand, ID, type Invocation } from '../command.js'
import { messageWith, nowIn } from './messages.js'
import { limitOption } from '../options.js'
import { type Names, tableWithNames, withName } from './names.js'

type ListOptions = {
  readonly agent?: string
  readonly session?: string
  readonly endUser?: string
  readonly limit: number
}
type AnswerOptions = { readonly endUser?: string }

export function addInputs(program: Command) {
  const inputs = program.command('inputs').description('answer questions of agents to people')
  addApiCommand(inputs, 'list', {
    about: 'list the messages that wait for a person, the nearest deadline first',
    thing: 'the questions',
    call: ({ client, options: { agent, session, endUser, limit } }: Invocation<ListOptions>) =>
      firstOf(client.inputs.list(given({ agent, sessionId: session, endUserId: endUser })), limit),
    longText: tableWithNames(['agent'], row, 'No open questions.'),
  })
    .option('--agent <agent>', 'only questions of the agent with this name or id')
    .option('--session <id>', 'only questions of this session')
    .option('--end-user <id>', 'only messages on behalf of this end user')
    .addOption(limitOption('messages'))
  addApiCommand(inputs, 'answer <message-id> <value>', {
    about: 'answer the open question of a message',
    examples: [
      `agent-messaging inputs answer ${ID} approve`,
      `agent-messaging inputs answer ${ID} '{"order":7}' --end-user customer-42`,
    ],
    thing: question,
    call: answer,
    text: ({ state }, id) => `Message ${id} has its answer and is now ${state}.`,
  }).option('--end-user <id>', 'answer as this end user instead of as the service')
  addApiCommand(inputs, 'withdraw <message-id>', {
    about: 'withdraw the open question of a message, which then fails',
    thing: question,
    call: async (backend, id) => {
      const { agentId, input } = await asking(backend, id)
      return backend.client.inputs.withdraw(agentId, id, input.id)
    },
    text: nowIn,
  })
}

const question = (id: string) => `the question of message ${id}`

const row = ({ messageId, agentId, input }: Message, names: Names) => ({
  message: messageId,
  agent: withName(names, agentId),
  question: input?.question ?? '',
  answer: input?.options?.join(' | ') ?? answerType(input?.schema),
  expiresAt: input?.expiresAt ?? '',
})

/** `integer`, or `JSON` for a schema without a single type. */
const answerType = (schema: OpenInput['schema']) => {
  if (schema === undefined) return 'text'
  return typeof schema['type'] === 'string' ? schema['type'] : 'JSON'
}

async function answer(
  backend: Invocation<AnswerOptions>,
  id: string,
  text?: string,
): Promise<Message> {
  const { agentId, input } = await asking(backend, id)
  const { endUser } = backend.options
  return backend.client.messages.answer(agentId, id, {
    inputId: input.id,
    value: valueOf(text ?? '', input.schema !== undefined && input.options === undefined),
    ...(endUser !== undefined && { executionPrincipal: { type: 'end_user', endUserId: endUser } }),
  })
}

/** A question with a schema takes JSON. A text that is not JSON is sent as a text. */
function valueOf(text: string, isJson: boolean) {
  if (!isJson) return text
  try {
    return JSON.parse(text) as NewInputAnswer['value']
  } catch {
    return text
  }
}

async function asking(backend: Backend, id: string) {
  const { agentId, input } = await messageWith(backend, id)
  if (!input) throw new Reason('the message has no open question')
  return { agentId, input }
}
