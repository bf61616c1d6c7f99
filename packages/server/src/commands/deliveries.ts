import { setTimeout as sleep } from 'node:timers/promises'
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
import { deliveryBody, deliveryDetailBody, recoveryBody } from '@org/agent-messaging-http'
import { Option, type Command } from 'commander'
import { OperatorError, orFail } from '../operator-error.js'
import { onProject } from './admin.js'
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
const MAX_PAGE = 100
/** The time between two looks at a recovery that another process works on. */
const LOOK_MS = 200

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list, inspect and resend webhook deliveries')

  withFilters(withProject(deliveries.command('list')))
    .description('list deliveries, newest first')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .option('--limit <number>', 'maximum number of deliveries', wholeNumber(1), 20)
    .addHelpText(
      'after',
      example(
        'agent-messaging deliveries list --status exhausted --after 2030-01-31',
        'agent-messaging deliveries list --json',
      ),
    )
    .action((options: ListOptions) =>
      onProject(options.project, (service, projectId) => list(service, projectId, options)),
    )

  withProject(deliveries.command('show <id>'))
    .description('show a delivery with its body and all attempts')
    .addHelpText('after', example(`agent-messaging deliveries show ${ID}`))
    .action((id: string, { project, json }: ProjectOptions) =>
      onProject(project, (service, projectId) => show(service, projectId, id, json)),
    )

  withProject(deliveries.command('redeliver <id>'))
    .description('send a delivery again now (a finished one gets a new retry schedule)')
    .addHelpText('after', example(`agent-messaging deliveries redeliver ${ID}`))
    .action((deliveryId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const due = await orFail(
          service.deliveries.redeliver({ projectId, deliveryId }),
          `cannot redeliver delivery ${deliveryId}`,
        )
        print(
          json,
          deliveryBody(due),
          `A running server sends the delivery now. To see the result, run: agent-messaging deliveries show ${deliveryId}`,
        )
      }),
    )

  addEnd(deliveries, 'cancel', 'cancel an open delivery, so that no further attempt is made')
  addEnd(deliveries, 'skip', 'cancel an open delivery that blocks its session, to send the next')

  withFilters(withProject(deliveries.command('recover [webhook]')))
    .description('resend the exhausted deliveries of one or all webhooks, or with --status others')
    .addHelpText(
      'after',
      example(`agent-messaging deliveries recover ${ID} --after 2030-01-31T12:00:00Z`),
    )
    .action((webhookId: string | undefined, options: ProjectOptions & Filters) =>
      onProject(options.project, (service, projectId) =>
        recover(service, projectId, webhookId, options),
      ),
    )
}

function addEnd(deliveries: Command, verb: 'cancel' | 'skip', description: string): void {
  withProject(deliveries.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging deliveries ${verb} ${ID}`))
    .action((deliveryId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const ended = await orFail(
          service.deliveries[verb]({ projectId, deliveryId }),
          `cannot ${verb} delivery ${deliveryId}`,
        )
        const done = verb === 'cancel' ? 'Cancelled' : 'Skipped'
        print(json, deliveryBody(ended), `${done} delivery ${deliveryId}.`)
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
  projectId: string,
  { json, webhook, limit, ...filters }: ListOptions,
): Promise<void> {
  const filter = {
    projectId,
    ...(webhook !== undefined && { webhookId: webhook }),
    ...filterOf(filters),
  }
  const found: WebhookDelivery[] = []
  for (let cursor: string | null | undefined; cursor !== null && found.length < limit;) {
    const page = {
      limit: Math.min(MAX_PAGE, limit - found.length),
      ...(cursor !== undefined && { cursor }),
    }
    const { data, nextCursor } = await orFail(
      service.deliveries.list(filter, page),
      'cannot list the deliveries',
    )
    found.push(...data)
    cursor = nextCursor
  }
  print(json, found.map(deliveryBody), table(found.map(row), 'No deliveries found.'))
}

function nextAttemptOf(state: WebhookDelivery['state']): string {
  if (state.kind === 'waiting') return `after ${state.blockedBy}`
  return state.kind === 'pending' ? toIso(state.nextAttemptAt) : '-'
}

const row = (delivery: WebhookDelivery) => ({
  id: delivery.id,
  webhook: delivery.webhookId,
  event: delivery.event,
  status: deliveryStatusOf(delivery.state),
  attempts: String(delivery.attemptCount),
  nextAttempt: nextAttemptOf(delivery.state),
  createdAt: toIso(delivery.createdAt),
})

async function show(
  service: MessagingService,
  projectId: string,
  deliveryId: string,
  json: true | undefined,
): Promise<void> {
  const found = deliveryDetailBody(
    await orFail(
      service.deliveries.get({ projectId, deliveryId }),
      `cannot show delivery ${deliveryId}`,
    ),
  )
  const { attempts, body, ...delivery } = found
  const rows = table(attempts.map(attemptRow), 'No attempts yet.')
  print(json, found, `${fieldTable(delivery)}\n\n${rows}\n\n${body}`)
}

type Attempt = ReturnType<typeof deliveryDetailBody>['attempts'][number]

const attemptRow = (attempt: Attempt) => ({
  attempt: String(attempt.attemptNumber),
  startedAt: attempt.startedAt,
  took: `${attempt.durationMs} ms`,
  outcome: attempt.outcome,
  status: String(attempt.statusCode ?? '-'),
  detail:
    attempt.statusCode === undefined
      ? `${attempt.error}: ${attempt.detail}`
      : (attempt.responseBody ?? '').slice(0, 60).replaceAll(/\s+/g, ' '),
})

/** Does pages here, beside the servers. A server finishes the recovery if this command ends. */
async function recover(
  service: MessagingService,
  projectId: string,
  webhookId: string | undefined,
  { json, ...filters }: ProjectOptions & Filters,
): Promise<void> {
  const bar = progress()
  const filter = { ...(webhookId !== undefined && { webhookId }), ...filterOf(filters) }
  let recovery = await orFail(
    service.recoveries.start({ projectId, filter }),
    webhookId === undefined
      ? 'cannot recover the deliveries'
      : `cannot recover the deliveries of webhook ${webhookId}`,
  )
  const { id } = recovery
  const failure = `cannot follow recovery ${id}, which a running server continues`
  while (recovery.state.kind === 'running') {
    bar.show(`${recovery.redelivered} deliveries are due again…`)
    const advanced = await orFail(service.recoveries.advance(), failure)
    if (!advanced) await sleep(LOOK_MS)
    recovery = await orFail(service.recoveries.get({ projectId, recoveryId: id }), failure)
  }
  bar.end()
  const { state, redelivered } = recovery
  if (state.kind === 'failed')
    throw new OperatorError(`recovery ${id} failed: ${state.reason.replaceAll('_', ' ')}`)
  const end = state.kind === 'cancelled' ? ' The recovery was cancelled.' : ''
  print(
    json,
    recoveryBody(recovery),
    `${redelivered} deliveries are due again. A running server sends them.${end}`,
  )
}
