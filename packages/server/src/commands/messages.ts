import type { FoundMessage, MessageState } from '@org/agent-messaging-client'
import { toIso } from '@org/agent-messaging-core/runtime'
import { Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { firstOf, onBackend, type Backend } from './backend.js'
import { orRefusal } from './client-error.js'
import { given } from './given.js'
import { example, instant, wholeNumber, withBackend, type BackendOptions } from './options.js'
import { fieldTable, print, table } from './output.js'

type ListOptions = BackendOptions & {
  readonly session?: string
  readonly endUser?: string
  readonly correlationId?: string
  readonly text?: string
  readonly state?: MessageState
  readonly after?: number
  readonly before?: number
  readonly limit: number
}

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
const STATES: readonly MessageState[] = [
  'queued',
  'running',
  'deferred',
  'input_required',
  'responded',
  'failed',
  'cancelled',
]

export function addMessages(program: Command): void {
  const messages = program.command('messages').description('find, inspect and repair messages')
  addList(messages)
  addShow(messages)
  addChange(messages, 'cancel', 'cancel a message that is not final')
  addChange(messages, 'retry', 'run a failed or cancelled message again')
}

function addList(messages: Command): void {
  withBackend(messages.command('list'))
    .description('find messages over all agents, newest first')
    .option('--session <id>', 'only messages of this session')
    .option('--end-user <id>', 'only messages on behalf of this end user')
    .option('--correlation-id <id>', 'only messages with this correlationId in the metadata')
    .option(
      '--text <text>',
      'only messages with this text (at most 100 characters) in them or in their answer',
    )
    .addOption(new Option('--state <state>', 'only messages in this state').choices([...STATES]))
    .option('--after <time>', 'only messages since this time, such as 2030-01-31', instant)
    .option('--before <time>', 'only messages created before this time', instant)
    .option('--limit <number>', 'maximum number of messages', wholeNumber(1), 20)
    .addHelpText(
      'after',
      example(
        'agent-messaging messages list --state failed --after 2030-01-31',
        'agent-messaging messages list --end-user customer-42 --profile production',
      ),
    )
    .action((options: ListOptions) => onBackend(options, (backend) => list(backend, options)))
}

async function list({ client }: Backend, options: ListOptions): Promise<void> {
  const { json, session, endUser, correlationId, text, state, after, before, limit } = options
  const search = given({
    sessionId: session,
    endUserId: endUser,
    correlationId,
    text,
    state,
    createdAfter: after === undefined ? undefined : toIso(after),
    createdBefore: before === undefined ? undefined : toIso(before),
  })
  const found = await firstOf(client.messages.search(search), limit, 'cannot list the messages')
  print(json, found, table(found.map(row), 'No messages found.'))
}

const row = ({ messageId, sessionId, state, deliveries, error, createdAt }: FoundMessage) => ({
  id: messageId,
  session: sessionId,
  state,
  deliveries: countsOf(deliveries.map(({ status }) => status)),
  error: error?.code ?? '-',
  createdAt,
})

/** `2 delivered, 1 exhausted` */
function countsOf(names: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ') || 'none'
}

function addShow(messages: Command): void {
  withBackend(messages.command('show <id>'))
    .description('show a message with its answer and its deliveries')
    .addHelpText('after', example(`agent-messaging messages show ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async (backend) => {
        const found = await messageWith(backend, id, `cannot show message ${id}`)
        const { deliveries, ...message } = found
        const rows = table(deliveries.map(deliveryRow), 'No deliveries.')
        const parts = [fieldTable(message), rows, ...nextSteps(found)]
        print(options.json, found, parts.join('\n\n'))
      }),
    )
}

const deliveryRow = (delivery: FoundMessage['deliveries'][number]) => ({
  delivery: delivery.id,
  webhook: delivery.webhookId,
  event: delivery.event,
  status: delivery.status,
  attempts: String(delivery.attemptCount),
})

/** The commands that help with an open question and with a failed delivery. */
function nextSteps({ messageId, input, deliveries }: FoundMessage): string[] {
  const steps: string[] = []
  if (input) steps.push(`To answer, run: agent-messaging inputs answer ${messageId} <value>`)
  const failed = deliveries.find(
    ({ status, attemptCount }) =>
      status === 'exhausted' || (status === 'pending' && attemptCount > 0),
  )
  if (failed) steps.push(`To see why it failed, run: agent-messaging deliveries show ${failed.id}`)
  return steps
}

function addChange(messages: Command, verb: 'cancel' | 'retry', description: string): void {
  withBackend(messages.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging messages ${verb} ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async (backend) => {
        const failure = `cannot ${verb} message ${id}`
        const { agentId } = await messageWith(backend, id, failure)
        const changed = await orRefusal(backend.client.messages[verb](agentId, id), failure)
        print(options.json, changed, `Message ${id} is now ${changed.state}.`)
      }),
    )
}

/** Finds the message without its agent, which a person with an id does not know. */
export async function messageWith(
  { client }: Backend,
  messageId: string,
  failure: string,
): Promise<FoundMessage> {
  const [found] = await firstOf(client.messages.search({ messageId }), 1, failure)
  if (found) return found
  throw new OperatorError(`${failure}: no such message`)
}
