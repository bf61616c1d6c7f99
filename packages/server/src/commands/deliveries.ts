import {
  deliveryStatusOf,
  EVENT_NAMES,
  type DeliveryFilter,
  type DeliveryStatus,
  type EventName,
  type MessagingService,
  type WebhookDelivery,
} from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { deliveryBody, deliveryDetailBody } from '@org/agent-messaging-http'
import { Option, type Command } from 'commander'
import { projectNamed } from '../find.js'
import { orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { example, instant, wholeNumber, withProject, type ProjectOptions } from './options.js'
import { fieldTable, print, progress, table } from './output.js'

type Filters = {
  readonly status?: DeliveryStatus
  readonly event?: EventName
  readonly after?: number
  readonly before?: number
}
type ListOptions = ProjectOptions & Filters & { readonly webhook?: string; readonly limit: number }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
const MOST_A_PAGE = 100
const MOST_RECOVERED = 1_000

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list deliveries, see their attempts, and have them sent again')

  withFilters(withProject(deliveries.command('list')))
    .description('list deliveries, newest first')
    .option('--webhook <id>', 'only those to this webhook')
    .option('--limit <number>', 'so many at most', wholeNumber(1), 20)
    .addHelpText(
      'after',
      example(
        'agent-messaging deliveries list --status exhausted --after 2030-01-31',
        'agent-messaging deliveries list --json',
      ),
    )
    .action((options: ListOptions) => onDatabase((service) => list(service, options)))

  withProject(deliveries.command('show <id>'))
    .description('show a delivery with its body and every attempt')
    .addHelpText('after', example(`agent-messaging deliveries show ${ID}`))
    .action((id: string, options: ProjectOptions) =>
      onDatabase((service) => show(service, id, options)),
    )

  withProject(deliveries.command('redeliver <id>'))
    .description(
      'have it sent again now: one more attempt of an open one, a fresh schedule for a finished one',
    )
    .addHelpText('after', example(`agent-messaging deliveries redeliver ${ID}`))
    .action((deliveryId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const due = await orFail(
          service.deliveries.redeliver({ projectId, deliveryId }),
          `the delivery ${deliveryId} cannot be redelivered`,
        )
        print(
          json,
          deliveryBody(due),
          `It is due now. A server on this database sends it: agent-messaging deliveries show ${deliveryId}`,
        )
      }),
    )

  withProject(deliveries.command('cancel <id>'))
    .description('end an open delivery: its next attempt is not made')
    .addHelpText('after', example(`agent-messaging deliveries cancel ${ID}`))
    .action((deliveryId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const ended = await orFail(
          service.deliveries.cancel({ projectId, deliveryId }),
          `the delivery ${deliveryId} cannot be cancelled`,
        )
        print(json, deliveryBody(ended), `Cancelled the delivery ${deliveryId}.`)
      }),
    )

  withFilters(withProject(deliveries.command('recover <webhook>')))
    .description(
      'have everything sent again that a webhook missed and that matches: exhausted deliveries, unless --status says otherwise',
    )
    .addHelpText(
      'after',
      example(`agent-messaging deliveries recover ${ID} --after 2030-01-31T12:00:00Z`),
    )
    .action((webhook: string, options: ProjectOptions & Filters) =>
      onDatabase((service) => recover(service, webhook, options)),
    )
}

const withFilters = (command: Command): Command =>
  command
    .addOption(
      new Option('--status <status>', 'only these').choices([
        'pending',
        'delivered',
        'exhausted',
        'cancelled',
      ]),
    )
    .addOption(
      new Option('--event <name>', 'only of this event').choices([...EVENT_NAMES, 'webhook.test']),
    )
    .option('--after <instant>', 'only those made after it, such as 2030-01-31T12:00:00Z', instant)
    .option('--before <instant>', 'only those made before it', instant)

const filterOf = ({
  status,
  event,
  after,
  before,
}: Filters): Omit<DeliveryFilter, 'projectId' | 'webhookId'> => ({
  ...(status !== undefined && { status }),
  ...(event !== undefined && { event }),
  ...(after !== undefined && { createdAfter: after }),
  ...(before !== undefined && { createdBefore: before }),
})

async function list(
  service: MessagingService,
  { project, json, webhook, limit, ...filters }: ListOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const filter = {
    projectId,
    ...(webhook !== undefined && { webhookId: webhook }),
    ...filterOf(filters),
  }
  const found: WebhookDelivery[] = []
  for (let cursor: string | null | undefined; cursor !== null && found.length < limit;) {
    const page = {
      limit: Math.min(MOST_A_PAGE, limit - found.length),
      ...(cursor !== undefined && { cursor }),
    }
    const { data, nextCursor } = await orFail(
      service.deliveries.list(filter, page),
      'the deliveries cannot be listed',
    )
    found.push(...data)
    cursor = nextCursor
  }
  print(json, found.map(deliveryBody), table(found.map(row), 'There is no such delivery.'))
}

const row = (delivery: WebhookDelivery) => ({
  ...{
    id: delivery.id,
    event: delivery.event,
    status: deliveryStatusOf(delivery.state),
    attempts: String(delivery.attemptCount),
  },
  nextAttempt: delivery.state.kind === 'pending' ? toIso(delivery.state.nextAttemptAt) : '-',
  createdAt: toIso(delivery.createdAt),
})

async function show(
  service: MessagingService,
  deliveryId: string,
  { project, json }: ProjectOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const found = deliveryDetailBody(
    await orFail(
      service.deliveries.get({ projectId, deliveryId }),
      `the delivery ${deliveryId} cannot be shown`,
    ),
  )
  const { attempts, body, ...delivery } = found
  const tries = attempts.map(
    ({
      attemptNumber,
      startedAt,
      durationMs,
      outcome,
      statusCode,
      error,
      detail,
      responseBody = '',
    }) => ({
      ...{
        attempt: String(attemptNumber),
        startedAt,
        took: `${durationMs} ms`,
        outcome,
        status: String(statusCode ?? '-'),
      },
      detail:
        statusCode === undefined
          ? `${error}: ${detail}`
          : responseBody.slice(0, 60).replaceAll(/\s+/g, ' '),
    }),
  )
  print(
    json,
    found,
    `${fieldTable(delivery)}\n\n${table(tries, 'It was not attempted yet.')}\n\n${body}`,
  )
}

async function recover(
  service: MessagingService,
  webhookId: string,
  { project, json, ...filters }: ProjectOptions & Filters,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const bar = progress()
  let count = 0
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = { limit: MOST_RECOVERED, ...(cursor !== undefined && { cursor }) }
    const what = `the deliveries of the webhook ${webhookId} cannot be recovered${count > 0 ? ` beyond the first ${count}` : ''}`
    const done = await orFail(
      service.deliveries.recover({ projectId, webhookId, filter: filterOf(filters), page }),
      what,
    )
    count += done.count
    cursor = done.nextCursor
    bar.show(`${count} deliveries are due again…`)
  }
  bar.end()
  print(json, { count }, `${count} deliveries are due again. A server on this database sends them.`)
}
