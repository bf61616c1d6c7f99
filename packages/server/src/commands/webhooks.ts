import { EVENT_NAMES, type MessagingService, type WebhookFilter } from '@org/agent-messaging-core'
import { ORDERINGS, type Ordering, type SubscribableEvent } from '@org/agent-messaging-core/runtime'
import { deliveryBody, webhookBody } from '@org/agent-messaging-http'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { allPages } from '@org/agent-messaging-node/wiring'
import { schedule } from '../config-values.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onProject } from './admin.js'
import {
  duration,
  example,
  repeatable,
  wholeNumber,
  withProject,
  type ProjectOptions,
} from './options.js'
import { fieldTable, print, table } from './output.js'
import { withSecret, type SecretOptions } from './secret.js'
import { webhookRow } from './webhook-row.js'

type Settings = {
  readonly event?: readonly (SubscribableEvent | '*')[]
  readonly filter?: WebhookFilter | null
  readonly description?: string
  readonly ordering?: Ordering
  readonly maxConcurrency?: number | null
  readonly rate?: number | null
  readonly timeout?: number | null
  readonly retrySchedule?: readonly number[] | null
}
type CreateOptions = ProjectOptions & Settings & SecretOptions
type UpdateOptions = ProjectOptions &
  Settings & { readonly url?: string; readonly dropHeaders?: true }
type RotateOptions = ProjectOptions & SecretOptions & { readonly grace?: number }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
const SECRET = 'your own secret: whsec_ and 24 to 64 bytes as base64 (default: a random secret)'
const filter = (about: string) => new Option('--filter <json>', about).argParser(filterOf)
const ordering = (): Option =>
  new Option('--ordering <order>', 'session: keep the order of the events of each session').choices(
    [...ORDERINGS],
  )
/** The limits, the timeout and the retries of a webhook. `-` clears a setting. */
const withSending = (command: Command): Command =>
  command
    .option('--max-concurrency <number>', 'most requests at a time', orNone(wholeNumber(1, 1_000)))
    .option('--rate <number>', 'most requests per second', orNone(rate))
    .option('--timeout <duration>', 'time limit of an attempt, such as 20s', orNone(duration))
    .option(
      '--retry-schedule <delays>',
      'delays between attempts, such as 5s,5m,2h',
      orNone(delays),
    )

const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | null =>
    text === '-' ? null : parse(text)

function rate(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (number > 0) return number
  throw new InvalidArgumentError('Expected a positive number, such as 100 or 0.5.')
}

function delays(text: string): readonly number[] {
  const parsed = schedule.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('Expected up to 50 delays of at most 30d, such as 5s,5m,2h.')
}

const sendingOf = ({
  maxConcurrency,
  rate: requestsPerSecond,
  timeout,
  retrySchedule,
}: Settings) => ({
  maxConcurrency,
  requestsPerSecond,
  timeoutMs: timeout,
  retrySchedule,
})

const events = (about: string) => repeatable('--event <name>', about, ['*', ...EVENT_NAMES])

function filterOf(json: string): WebhookFilter | null {
  if (json === '-') return null
  try {
    return JSON.parse(json) as WebhookFilter
  } catch {
    throw new InvalidArgumentError('It is not JSON.')
  }
}

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('manage webhooks')
  addCreate(webhooks)
  addList(webhooks)
  addShow(webhooks)
  addUpdate(webhooks)
  addSwitch(webhooks, 'enable', 'enable a webhook and send the deliveries that were kept for it')
  addSwitch(webhooks, 'disable', 'disable a webhook and keep its deliveries, up to a limit')
  addPause(webhooks, 'pause', 'keep all deliveries of a webhook and send nothing')
  addPause(webhooks, 'resume', 'send the deliveries of a paused webhook')
  addTest(webhooks)
  addRotate(webhooks)
  addFinishRotation(webhooks)
  addDelete(webhooks)
}

function addCreate(webhooks: Command): void {
  withSending(withSecret(withProject(webhooks.command('create <url>')), SECRET))
    .description('create a webhook and print its secret once')
    .addOption(events('event to send, by default all'))
    .addOption(filter('send only events that match this JSON filter'))
    .option('--description <text>', 'description for people')
    .addOption(ordering())
    .addHelpText(
      'after',
      example(
        'agent-messaging webhooks create https://example.com/hooks --event message.responded',
        `agent-messaging webhooks create https://example.com/hooks --filter '{"sessionIdPrefix":"support/"}'`,
      ),
    )
    .action((url: string, options: CreateOptions) =>
      onProject(options.project, (service, projectId) =>
        createWebhook(service, projectId, url, options),
      ),
    )
}

function addList(webhooks: Command): void {
  withProject(webhooks.command('list'))
    .description('list the webhooks of a project, newest first')
    .addHelpText(
      'after',
      example(
        'agent-messaging webhooks list',
        'agent-messaging webhooks list --json | jq .[].failingSince',
      ),
    )
    .action(({ project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const found = await allPages(
          (page) => service.webhooks.list(projectId, page),
          'cannot list the webhooks',
        )
        const bodies = found.map((webhook) => webhookBody(webhook, service.now()))
        print(
          json,
          bodies,
          table(
            found.map((webhook) => webhookRow(webhook, service.now())),
            'No webhooks.',
          ),
        )
      }),
    )
}

function addShow(webhooks: Command): void {
  withProject(webhooks.command('show <id>'))
    .description('show a webhook with its settings and its health')
    .addHelpText('after', example(`agent-messaging webhooks show ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const webhook = await orFail(
          service.webhooks.get({ projectId, webhookId }),
          `cannot read webhook ${webhookId}`,
        )
        const body = webhookBody(webhook, service.now())
        print(json, body, fieldTable(body))
      }),
    )
}

function addUpdate(webhooks: Command): void {
  withSending(withProject(webhooks.command('update <id>')))
    .description('change the given settings of a webhook (- clears limits, timeout and retries)')
    .option('--url <url>', 'new URL')
    .addOption(events('new event to send, replacing the old ones'))
    .addOption(filter('new JSON filter of events, replacing the old one, - for none'))
    .option('--description <text>', 'description for people, - for none')
    .addOption(ordering())
    .option(
      '--drop-headers',
      'remove the custom headers (required when the URL changes to another origin)',
    )
    .addHelpText(
      'after',
      example(`agent-messaging webhooks update ${ID} --url https://example.com/new-hooks`),
    )
    .action((id: string, options: UpdateOptions) =>
      onProject(options.project, (service, projectId) =>
        updateWebhook(service, projectId, id, options),
      ),
    )
}

function addSwitch(webhooks: Command, verb: 'enable' | 'disable', description: string): void {
  withProject(webhooks.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging webhooks ${verb} ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const webhook = await orFail(
          service.webhooks[verb]({ projectId, webhookId }),
          `cannot ${verb} webhook ${webhookId}`,
        )
        const note = verb === 'disable' ? ' Its deliveries are kept until you enable it.' : ''
        const text = `Webhook ${webhookId} is ${verb}d.${note}`
        print(json, webhookBody(webhook, service.now()), text)
      }),
    )
}

function addPause(webhooks: Command, verb: 'pause' | 'resume', description: string): void {
  withProject(webhooks.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging webhooks ${verb} ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const paused = verb === 'pause'
        const webhook = await orFail(
          service.webhooks.update({ projectId, webhookId, change: { paused } }),
          `cannot ${verb} webhook ${webhookId}`,
        )
        const said = `Webhook ${webhookId} is ${paused ? 'paused' : 'resumed'}.`
        print(json, webhookBody(webhook, service.now()), said)
      }),
    )
}

function addTest(webhooks: Command): void {
  withProject(webhooks.command('test <id>'))
    .description('send a webhook.test event to a webhook')
    .addHelpText('after', example(`agent-messaging webhooks test ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const delivery = await orFail(
          service.webhooks.sendTestEvent({ projectId, webhookId }),
          `cannot test webhook ${webhookId}`,
        )
        print(
          json,
          deliveryBody(delivery),
          `A running server sends the event now. To see the result, run: agent-messaging deliveries show ${delivery.id}`,
        )
      }),
    )
}

function addRotate(webhooks: Command): void {
  withSecret(withProject(webhooks.command('rotate <id>')), SECRET)
    .description('replace the secret of a webhook and print the new one once')
    .option(
      '--grace <duration>',
      'how long the old secret also signs, such as 1h or 0s (default: 24h)',
      duration,
    )
    .addHelpText(
      'after',
      example(
        `agent-messaging webhooks rotate ${ID}`,
        `agent-messaging webhooks rotate ${ID} --grace 0s`,
      ),
    )
    .action((id: string, options: RotateOptions) =>
      onProject(options.project, (service, projectId) => rotate(service, projectId, id, options)),
    )
}

function addFinishRotation(webhooks: Command): void {
  withProject(webhooks.command('finish-rotation <id>'))
    .description('stop signing with the old secret now')
    .addHelpText('after', example(`agent-messaging webhooks finish-rotation ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const webhook = await orFail(
          service.webhooks.finishRotation({ projectId, webhookId }),
          `cannot finish the rotation of webhook ${webhookId}`,
        )
        print(json, webhookBody(webhook, service.now()), 'Only the new secret signs from now on.')
      }),
    )
}

function addDelete(webhooks: Command): void {
  withProject(webhooks.command('delete <id>'))
    .description('delete a webhook and cancel its open deliveries')
    .addHelpText('after', example(`agent-messaging webhooks delete ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        await orFail(
          service.webhooks.delete({ projectId, webhookId }),
          `cannot delete webhook ${webhookId}`,
        )
        print(json, { id: webhookId, deleted: true }, `Deleted webhook ${webhookId}.`)
      }),
    )
}

async function createWebhook(
  service: MessagingService,
  projectId: string,
  url: string,
  {
    json,
    event = ['*'],
    filter: wanted,
    description,
    ordering: order,
    secret,
    secretFile,
    ...settings
  }: CreateOptions,
): Promise<void> {
  const created = await orFail(
    service.webhooks.create({
      projectId,
      url,
      events: event,
      description,
      secret: secret ?? secretFile,
      filter: wanted,
      ordering: order,
      ...sendingOf(settings),
    }),
    'cannot create the webhook',
  )
  print(
    json,
    { ...webhookBody(created.webhook, service.now()), secret: created.secret },
    `Created webhook ${created.webhook.id}. ${shownOnce(created.secret)}`,
  )
}

async function updateWebhook(
  service: MessagingService,
  projectId: string,
  webhookId: string,
  {
    json,
    url,
    event,
    filter: wanted,
    description,
    ordering: order,
    dropHeaders,
    ...settings
  }: UpdateOptions,
): Promise<void> {
  const sending = sendingOf(settings)
  const given = [url, event, wanted, description, order, dropHeaders, ...Object.values(sending)]
  if (given.every((one) => one === undefined))
    throw new OperatorError('nothing to update; webhooks update --help lists the settings', 2)
  const change = {
    url,
    events: event,
    filter: wanted,
    description: description === '-' ? null : description,
    ordering: order,
    ...sending,
    ...(dropHeaders && { headers: null }),
  }
  const webhook = await orFail(
    service.webhooks.update({ projectId, webhookId, change }),
    `cannot update webhook ${webhookId}`,
  )
  print(json, webhookBody(webhook, service.now()), `Updated webhook ${webhookId}.`)
}

async function rotate(
  service: MessagingService,
  projectId: string,
  webhookId: string,
  { json, secret, secretFile, grace }: RotateOptions,
): Promise<void> {
  const rotation = { projectId, webhookId, secret: secret ?? secretFile, graceMs: grace }
  const rotated = await orFail(
    service.webhooks.rotateSecret(rotation),
    `cannot rotate the secret of webhook ${webhookId}`,
  )
  const body = { ...webhookBody(rotated.webhook, service.now()), secret: rotated.secret }
  const until = body.previousSecretUntil
  const note = until === undefined ? '' : ` The old secret also signs until ${until}.`
  print(
    json,
    body,
    `Rotated the secret of webhook ${webhookId}.${note} ${shownOnce(rotated.secret)}`,
  )
}

const shownOnce = (secret: string): string =>
  `Its secret is:\n\n${secret}\n\nStore the secret now. The server does not show it again.`
