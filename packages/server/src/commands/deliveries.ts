import type { Delivery, DeliveryAttempt, DeliveryStatus } from '@org/agent-messaging-client'
import { EVENT_NAMES } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { Option, type Command } from 'commander'
import { firstOf, onBackend, type Backend } from './backend.js'
import { orRefusal } from './client-error.js'
import { given } from './given.js'
import { example, instant, wholeNumber, withBackend, type BackendOptions } from './options.js'
import { fieldTable, print, table } from './output.js'
import { recover } from './recover.js'

type Filters = {
  readonly status?: DeliveryStatus
  readonly event?: string
  readonly after?: number
  readonly before?: number
}
type ListOptions = BackendOptions &
  Filters & {
    readonly webhook?: string
    readonly message?: string
    readonly session?: string
    readonly limit: number
  }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list, inspect and resend webhook deliveries')

  withFilters(withBackend(deliveries.command('list')))
    .description('list deliveries, newest first')
    .option('--message <id>', 'only deliveries of the events of this message')
    .option('--session <id>', 'only deliveries of the events of this session')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .option('--limit <number>', 'maximum number of deliveries', wholeNumber(1), 20)
    .addHelpText(
      'after',
      example(
        `agent-messaging deliveries list --message ${ID}`,
        'agent-messaging deliveries list --status exhausted --after 2030-01-31',
        'agent-messaging deliveries list --json',
      ),
    )
    .action((options: ListOptions) => onBackend(options, (backend) => list(backend, options)))

  withBackend(deliveries.command('show <id>'))
    .description('show a delivery with its body and all attempts')
    .addHelpText('after', example(`agent-messaging deliveries show ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, (backend) => show(backend, id, options.json)),
    )

  withBackend(deliveries.command('redeliver <id>'))
    .description('send a delivery again now (a finished one gets a new retry schedule)')
    .addHelpText('after', example(`agent-messaging deliveries redeliver ${ID}`))
    .action((deliveryId: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const due = await orRefusal(
          client.deliveries.redeliver(deliveryId),
          `cannot redeliver delivery ${deliveryId}`,
        )
        print(
          options.json,
          due,
          `A running server sends the delivery now. To see the result, run: agent-messaging deliveries show ${deliveryId}`,
        )
      }),
    )

  addEnd(deliveries, 'cancel', 'cancel an open delivery, so that no further attempt is made')
  addEnd(deliveries, 'skip', 'cancel an open delivery that blocks its session, to send the next')

  withFilters(withBackend(deliveries.command('recover [webhook]')))
    .description('resend the exhausted deliveries of one or all webhooks, or with --status others')
    .addHelpText(
      'after',
      example(`agent-messaging deliveries recover ${ID} --after 2030-01-31T12:00:00Z`),
    )
    .action((webhookId: string | undefined, options: BackendOptions & Filters) =>
      onBackend(options, (backend) =>
        recover(backend, given({ webhookId, ...filterOf(options) }), options.json),
      ),
    )
}

function addEnd(deliveries: Command, verb: 'cancel' | 'skip', description: string): void {
  withBackend(deliveries.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging deliveries ${verb} ${ID}`))
    .action((deliveryId: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const ended = await orRefusal(
          client.deliveries[verb](deliveryId),
          `cannot ${verb} delivery ${deliveryId}`,
        )
        const done = verb === 'cancel' ? 'Cancelled' : 'Skipped'
        print(options.json, ended, `${done} delivery ${deliveryId}.`)
      }),
    )
}

const withFilters = (command: Command): Command =>
  command
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices([
        'pending',
        'delivered',
        'exhausted',
        'cancelled',
      ]),
    )
    .addOption(
      new Option('--event <name>', 'only deliveries of this event').choices([
        ...EVENT_NAMES,
        'webhook.test',
      ]),
    )
    .option(
      '--after <time>',
      'only deliveries created after this time, such as 2030-01-31T12:00:00Z',
      instant,
    )
    .option('--before <time>', 'only deliveries created before this time', instant)

const filterOf = ({ status, event, after, before }: Filters) => ({
  status,
  event,
  createdAfter: after === undefined ? undefined : toIso(after),
  createdBefore: before === undefined ? undefined : toIso(before),
})

async function list(
  { client }: Backend,
  { json, webhook, message, session, limit, ...filters }: ListOptions,
): Promise<void> {
  const rows = client.deliveries.list(
    given({
      webhookId: webhook,
      messageId: message,
      sessionId: session,
      ...filterOf(filters),
    }),
  )
  const found = await firstOf(rows, limit, 'cannot list the deliveries')
  print(json, found, table(found.map(row), 'No deliveries found.'))
}

const row = (delivery: Delivery) => ({
  id: delivery.id,
  webhook: delivery.webhookId,
  event: delivery.event,
  status: delivery.status,
  attempts: String(delivery.attemptCount),
  nextAttempt: nextAttemptOf(delivery),
  createdAt: delivery.createdAt,
})

const nextAttemptOf = ({ blockedBy, nextAttemptAt = '-' }: Delivery): string =>
  blockedBy === undefined ? nextAttemptAt : `after ${blockedBy}`

async function show(
  { client }: Backend,
  deliveryId: string,
  json: true | undefined,
): Promise<void> {
  const found = await orRefusal(
    client.deliveries.get(deliveryId),
    `cannot show delivery ${deliveryId}`,
  )
  const { attempts, body, ...delivery } = found
  const rows = table(attempts.map(attemptRow), 'No attempts yet.')
  print(json, found, `${fieldTable(delivery)}\n\n${rows}\n\n${body}`)
}

const attemptRow = (attempt: DeliveryAttempt) => ({
  attempt: String(attempt.attemptNumber),
  startedAt: attempt.startedAt,
  took: `${attempt.durationMs} ms`,
  outcome: attempt.outcome,
  status: String(attempt.statusCode ?? '-'),
  detail:
    attempt.statusCode === undefined
      ? `${attempt.error}: ${attempt.detail}`
      : startOf((attempt.responseBody ?? '').replaceAll(/\s+/g, ' '), 200),
})

const startOf = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text
