import type {
  Delivery,
  DeliveryAttempt,
  DeliveryStatusFilter,
  NewRecovery,
} from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import { eventNameRule, recoverySettings } from '@org/agent-messaging-core/host'
import { Option, type Command } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, ID, type Invocation } from '../command.js'
import { instant, limitOption, ruled, sinceOption } from '../options.js'
import { fieldTable, table } from '../output.js'
import { detailOf } from './attempt-text.js'
import { type Names, tableWithNames, withName } from './names.js'
import { followed, recoveryProblem, recoveryText, WAIT, type WaitOption } from './recoveries.js'

type Filters = {
  readonly status?: DeliveryStatusFilter
  readonly event?: string
  readonly after?: string
  readonly before?: string
  readonly since?: string
}
type RecoverOptions = Filters &
  WaitOption & {
    readonly answer?: NonNullable<NewRecovery['lastAnswer']>
    readonly tryFirst?: true
  }
type ListOptions = Filters & {
  readonly webhook?: string
  readonly message?: string
  readonly session?: string
  readonly limit: number
}

export function addDeliveries(program: Command) {
  const deliveries = program
    .command('deliveries')
    .description('list, inspect and resend webhook deliveries')

  const list = addApiCommand(deliveries, 'list', {
    about: 'list deliveries, newest first',
    examples: [
      `agent-messaging deliveries list --message ${ID}`,
      'agent-messaging deliveries list --status exhausted --after 2030-01-31',
      'agent-messaging deliveries list --json',
    ],
    thing: 'the deliveries',
    call: ({ client, options }: Invocation<ListOptions>) => {
      const { webhook, message, session, limit } = options
      const selected = { webhookId: webhook, messageId: message, sessionId: session }
      return firstOf(client.deliveries.list(given({ ...selected, ...filterOf(options) })), limit)
    },
    longText: tableWithNames(['webhook'], row, 'No deliveries found.'),
  })
  withFilters(list)
    .option('--message <id>', 'only deliveries of the events of this message')
    .option('--session <id>', 'only deliveries of the events of this session')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .addOption(limitOption('deliveries'))

  addApiCommand(deliveries, 'show <id>', {
    about: 'show a delivery, why its receiver does not have it, its body and all attempts',
    thing: delivery,
    call: async ({ client }, id) => ({
      ...(await client.deliveries.get(id)),
      story: await client.deliveries.story(id),
    }),
    text: ({ attempts, body, story, ...fields }) => {
      const rows = table(attempts.map(attemptRow), 'No attempts yet.')
      return `${story.text}\n\n${fieldTable(fields)}\n\n${rows}\n\n${body}`
    },
  })
  addApiCommand(deliveries, 'redeliver <id>', {
    about: 'send a delivery again now (a finished one gets a new retry schedule)',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.redeliver(id),
    text: (_, id) => sendsNow('delivery', id),
  })
  addApiCommand(deliveries, 'cancel <id>', {
    about: 'cancel an open delivery, so that no further attempt is made',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.cancel(id),
    done: 'cancelled',
  })
  addApiCommand(deliveries, 'skip <id>', {
    about: 'cancel an open delivery that blocks its session, to send the next',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.skip(id),
    done: 'skipped',
  })
  addRecover(deliveries)
}

function addRecover(deliveries: Command) {
  const recover = addApiCommand(deliveries, 'recover [webhook]', {
    about: 'resend the exhausted deliveries of one or all webhooks, or with --status others',
    examples: [
      `agent-messaging deliveries recover ${ID} --after 2030-01-31T12:00:00Z`,
      'agent-messaging deliveries recover --status failed --since 10:00 --answer 5xx --wait',
      'agent-messaging deliveries recover --status failed --try-first --wait',
    ],
    thing: (id) => (id === undefined ? 'the deliveries' : `the deliveries of webhook ${id}`),
    call: (backend: Invocation<RecoverOptions>, webhookId?: string) => {
      const { answer, tryFirst } = backend.options
      const filter = { webhookId, lastAnswer: answer, ...filterOf(backend.options) }
      return followed(backend, backend.client.recoveries.start(given({ ...filter, tryFirst })))
    },
    text: recoveryText,
    problem: recoveryProblem,
  })
  withFilters(recover)
    .addOption(
      new Option('--answer <class>', 'only deliveries whose last answer is of this class').choices(
        recoverySettings.lastAnswer.enum,
      ),
    )
    .option('--try-first', 'send one delivery first, and the others only if it is accepted')
    .option('--wait', WAIT)
}

const delivery = (id: string) => `delivery ${id}`

/** For a delivery that the database has, and that a server sends. */
export const sendsNow = (what: string, id: string) =>
  `A running server sends the ${what} now. To see the result, run: agent-messaging deliveries show ${id}`

const withFilters = (command: Command): Command =>
  command
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices(
        recoverySettings.status.enum,
      ),
    )
    .option('--event <name>', 'only deliveries of this event', ruled(eventNameRule))
    .option(
      '--after <time>',
      'only deliveries created after this time, such as 2030-01-31T12:00:00Z',
      instant,
    )
    .option('--before <time>', 'only deliveries created before this time', instant)
    .addOption(sinceOption())

const filterOf = ({ status, event, after, before, since: from }: Filters) => ({
  status,
  event,
  createdAfter: after ?? from,
  createdBefore: before,
})

const row = (delivery: Delivery, names: Names) => ({
  id: delivery.id,
  webhook: withName(names, delivery.webhookId),
  event: delivery.event,
  status: delivery.status,
  attempts: String(delivery.attemptCount),
  nextAttempt: nextAttemptOf(delivery),
  createdAt: delivery.createdAt,
})

const nextAttemptOf = ({ blockedBy, nextAttemptAt = '-' }: Delivery) =>
  blockedBy === undefined ? nextAttemptAt : `after ${blockedBy}`

const attemptRow = (attempt: DeliveryAttempt) => ({
  attempt: String(attempt.attemptNumber),
  startedAt: attempt.startedAt,
  took: `${attempt.durationMs} ms`,
  outcome: attempt.outcome,
  status: String(attempt.statusCode ?? '-'),
  detail: detailOf(attempt),
})
