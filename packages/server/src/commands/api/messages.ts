import type {
  FoundMessage,
  Message,
  MessageRun,
  MessageState,
  NewRetry,
} from '@org/agent-messaging-client'
import { MESSAGE_STATES, retrySettings } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import { Option, type Command } from 'commander'
import { firstOf, type Backend } from '../backend.js'
import { Reason } from '../client-error.js'
import { addApiCommand, type Invocation } from '../command.js'
import { instant, limitOption, sinceOption } from '../options.js'
import { fieldTable, table } from '../output.js'
import { followed, recoveryProblem, recoveryText, type WaitOption } from './recoveries.js'
import { type Names, tableWithNames, withName } from './names.js'

type ListOptions = {
  readonly agent?: string
  readonly session?: string
  readonly endUser?: string
  readonly correlationId?: string
  readonly text?: string
  readonly cursor?: string
  readonly state?: MessageState
  readonly after?: string
  readonly before?: string
  readonly limit: number
}

/** The most rows of a page. */
const MOST_ROWS = 100

export function addMessages(program: Command) {
  const messages = program.command('messages').description('find, inspect and repair messages')
  addApiCommand(messages, 'list', {
    about: 'find messages of all agents or of one, newest first',
    examples: [
      'agent-messaging messages list --agent support --state failed --after 2030-01-31',
      'agent-messaging messages list --end-user customer-42 --profile production',
    ],
    thing: 'the messages',
    call: foundBy,
    longText: tableWithNames(['agent'], row, 'No messages found.'),
  })
    .option('--agent <agent>', 'only messages of the agent with this name or id')
    .option('--session <id>', 'only messages of this session')
    .option('--end-user <id>', 'only messages on behalf of this end user')
    .option('--correlation-id <id>', 'only messages with this correlationId in the metadata')
    .option(
      '--text <text>',
      'only messages with this text (at most 100 characters) in them, in their answer or in the ' +
        'name of their session, or at the end of their id',
    )
    .option('--cursor <cursor>', 'look further than the search that printed this cursor')
    .addOption(
      new Option('--state <state>', 'only messages in this state').choices([...MESSAGE_STATES]),
    )
    .option('--after <time>', 'only messages since this time, such as 2030-01-31', instant)
    .option('--before <time>', 'only messages created before this time', instant)
    .addOption(limitOption('messages'))
  addApiCommand(messages, 'show <id>', {
    about: 'show a message, why it has no answer, its runs and its deliveries',
    thing: message,
    call: async (backend, id) => {
      const found = await messageWith(backend, id)
      const { messages: api } = backend.client
      return { ...found, story: await api.story(id), runs: await api.runs(found.agentId, id) }
    },
    text: (found) => {
      const { deliveries, runs, story, ...fields } = found
      const rows = table(deliveries.map(deliveryRow), 'No deliveries.')
      const ofRuns = table(runs.map(runRow), 'No runs.')
      return [story.text, fieldTable(fields), ofRuns, rows, ...nextSteps(found)].join('\n\n')
    },
  })
  addApiCommand(messages, 'cancel <id>', {
    about: 'cancel a message that is not final',
    thing: message,
    call: async (backend, id) =>
      backend.client.messages.cancel((await messageWith(backend, id)).agentId, id),
    text: nowIn,
  })
  addApiCommand(messages, 'retry <id>', {
    about: 'run a failed or cancelled message again',
    thing: message,
    call: async (backend, id) =>
      backend.client.messages.retry((await messageWith(backend, id)).agentId, id),
    text: nowIn,
  })
  addRetryFailed(messages)
}

/** A search for a text is one page, because it can look at many messages without a match. */
export async function foundBy({ client, options }: Invocation<ListOptions>) {
  const { text, cursor, limit } = options
  const search = { ...searchOf(options), ...given({ cursor }) }
  if (text === undefined) return firstOf(client.messages.search(search), limit)
  const page = { ...search, limit: Math.min(limit, MOST_ROWS) }
  const { data, nextCursor, lookedBackTo } = await client.messages.search(page)
  if (nextCursor !== null)
    process.stderr.write(
      `Looked back to ${lookedBackTo}. To look further, add: --cursor ${nextCursor}\n`,
    )
  return data
}

type RetryOptions = WaitOption & {
  readonly error?: NonNullable<NewRetry['errorCode']>
  readonly after?: string
  readonly since?: string
  readonly before?: string
}

const addRetryFailed = (messages: Command) =>
  addApiCommand(messages, 'retry-failed <agent>', {
    about: 'run all failed messages of an agent again, the oldest first',
    examples: [
      'agent-messaging messages retry-failed billing --since 10:00 --wait',
      'agent-messaging messages retry-failed billing --error RUNTIME_TIMEOUT',
    ],
    verb: 'retry',
    thing: (agent) => `the failed messages of ${agent}`,
    call: (backend: Invocation<RetryOptions>, agent) => {
      const { error, after, since: from, before } = backend.options
      const filter = { errorCode: error, createdAfter: after ?? from, createdBefore: before }
      return followed(backend, backend.client.messages.retryFailed(agent, given(filter)))
    },
    text: recoveryText,
    problem: recoveryProblem,
  })
    .addOption(
      new Option('--error <code>', 'only messages that failed with this error').choices(
        retrySettings.errorCode.enum,
      ),
    )
    .option('--after <time>', 'only messages since this time, such as 2030-01-31', instant)
    .option('--before <time>', 'only messages created before this time', instant)
    .addOption(sinceOption())
    .option('--wait', 'wait until each message has ended, and show how many were answered')

const message = (id: string) => `message ${id}`

export const nowIn = ({ messageId, state }: Message) => `Message ${messageId} is now ${state}.`

const searchOf = (options: ListOptions) => {
  const { agent, session, endUser, correlationId, text, state, after, before } = options
  return given({
    agent,
    sessionId: session,
    endUserId: endUser,
    correlationId,
    text,
    state,
    createdAfter: after,
    createdBefore: before,
  })
}

const row = (
  { messageId, agentId, sessionId, state, deliveries, error, createdAt }: FoundMessage,
  names: Names,
) => ({
  id: messageId,
  agent: withName(names, agentId),
  session: sessionId,
  state,
  deliveries: countsOf(deliveries.map(({ status }) => status)),
  error: error?.code ?? '-',
  createdAt,
})

/** `2 delivered, 1 exhausted` */
function countsOf(names: readonly string[]) {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ') || 'none'
}

const deliveryRow = (delivery: FoundMessage['deliveries'][number]) => ({
  delivery: delivery.id,
  webhook: delivery.webhookId,
  event: delivery.event,
  status: delivery.status,
  attempts: String(delivery.attemptCount),
})

const runRow = ({ attempt, startedAt, endedAt, reason, error, usage }: MessageRun) => ({
  run: String(attempt),
  startedAt,
  endedAt: endedAt ?? '-',
  reason: reason ?? '-',
  error: error ? `${error.code} ${error.message}` : '-',
  tokens: usage ? `${usage.inputTokens ?? 0} in, ${usage.outputTokens ?? 0} out` : '-',
})

/** The commands that help with an open question and with a failed delivery. */
function nextSteps({ messageId, input, deliveries }: FoundMessage) {
  const steps: string[] = []
  if (input) steps.push(`To answer, run: agent-messaging inputs answer ${messageId} <value>`)
  const failed = deliveries.find(
    ({ status, attemptCount }) =>
      status === 'exhausted' || (status === 'pending' && attemptCount > 0),
  )
  if (failed) steps.push(`To see why it failed, run: agent-messaging deliveries show ${failed.id}`)
  return steps
}

/** Finds the message without its agent, which a person with an id does not know. */
export async function messageWith({ client }: Backend, messageId: string): Promise<FoundMessage> {
  const [found] = await firstOf(client.messages.search({ messageId }), 1)
  if (found) return found
  throw new Reason('no such message')
}
