import { EVENT_NAMES, type MessagingService, type Webhook } from '@org/agent-messaging-core'
import { type SubscribableEvent } from '@org/agent-messaging-core/runtime'
import { deliveryBody, webhookBody } from '@org/agent-messaging-http'
import type { Command } from 'commander'
import { allPages } from '../all-pages.js'
import { projectNamed } from '../find.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { duration, example, repeatable, withProject, type ProjectOptions } from './options.js'
import { print, table } from './output.js'
import { withSecret, type SecretOptions } from './secret.js'

type Settings = {
  readonly event?: readonly (SubscribableEvent | '*')[]
  readonly agent?: string
  readonly description?: string
}
type CreateOptions = ProjectOptions & Settings & SecretOptions
type UpdateOptions = ProjectOptions &
  Settings & { readonly url?: string; readonly dropHeaders?: true }
type RotateOptions = ProjectOptions & SecretOptions & { readonly grace?: number }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
const OWN_SECRET = 'your own: whsec_ and base64 of 24 to 64 bytes (made, unless given)'
const events = (about: string) => repeatable('--event <name>', about, ['*', ...EVENT_NAMES])

export function addWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('create, change, test and delete webhooks')

  withSecret(withProject(webhooks.command('create <url>')), OWN_SECRET)
    .description('register a receiver; its secret is shown this once')
    .addOption(events('what it is sent, all unless given'))
    .option('--agent <agent>', 'only the events of this agent, by name or id')
    .option('--description <text>', 'for people')
    .addHelpText(
      'after',
      example(
        'agent-messaging webhooks create https://example.com/hooks --event message.responded',
      ),
    )
    .action((url: string, options: CreateOptions) =>
      onDatabase((service) => createWebhook(service, url, options)),
    )

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
      onDatabase(async (service) => {
        const { id } = await projectNamed(service, project)
        const found = await allPages(
          (page) => service.webhooks.list(id, page),
          'the webhooks cannot be listed',
        )
        const bodies = found.map((webhook) => webhookBody(webhook, service.now()))
        print(json, bodies, table(found.map(webhookRow), 'There is no webhook yet.'))
      }),
    )

  withProject(webhooks.command('update <id>'))
    .description('change what is given of a webhook; the rest stays as it is')
    .option('--url <url>', 'where it is')
    .addOption(events('what it is sent from now on'))
    .option('--agent <agent>', 'only the events of this agent, by name or id; - for all agents')
    .option('--description <text>', 'for people; - for none')
    .option(
      '--drop-headers',
      'send no headers of its own from now on, as a URL on another origin asks for',
    )
    .addHelpText(
      'after',
      example(`agent-messaging webhooks update ${ID} --url https://example.com/new-hooks`),
    )
    .action((id: string, options: UpdateOptions) =>
      onDatabase((service) => updateWebhook(service, id, options)),
    )

  addSwitch(
    webhooks,
    'enable',
    'send to it again, and what was kept meanwhile',
    'It is sent to again.',
  )
  addSwitch(
    webhooks,
    'disable',
    'send nothing to it; what it would get is kept',
    'What it would get is kept until it is enabled again.',
  )

  withProject(webhooks.command('test <id>'))
    .description('have the server send a webhook.test event to this webhook alone')
    .addHelpText('after', example(`agent-messaging webhooks test ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const sent = await orFail(
          service.webhooks.sendTestEvent({ projectId, webhookId }),
          `the webhook ${webhookId} cannot be tested`,
        )
        print(
          json,
          deliveryBody(sent),
          `A server on this database sends it now. What comes of it: agent-messaging deliveries show ${sent.id}`,
        )
      }),
    )

  withSecret(withProject(webhooks.command('rotate <id>')), OWN_SECRET)
    .description('replace the secret; the new one is shown this once, and both sign for a while')
    .option(
      '--grace <duration>',
      'so long the old one signs too, such as 1h; 24h unless given, 0s for not at all',
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
      onDatabase((service) => rotate(service, id, options)),
    )

  withProject(webhooks.command('finish-rotation <id>'))
    .description('end the time in which the old secret signs too')
    .addHelpText('after', example(`agent-messaging webhooks finish-rotation ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const what = `the rotation of the webhook ${webhookId} cannot be finished`
        const webhook = await orFail(
          service.webhooks.finishRotation({ projectId, webhookId }),
          what,
        )
        print(json, webhookBody(webhook, service.now()), 'Its new secret alone signs from now on.')
      }),
    )

  withProject(webhooks.command('delete <id>'))
    .description('delete a webhook; its open deliveries are cancelled')
    .addHelpText('after', example(`agent-messaging webhooks delete ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        await orFail(
          service.webhooks.delete({ projectId, webhookId }),
          `the webhook ${webhookId} cannot be deleted`,
        )
        print(json, { id: webhookId, deleted: true }, `Deleted the webhook ${webhookId}.`)
      }),
    )
}

function addSwitch(
  webhooks: Command,
  verb: 'enable' | 'disable',
  description: string,
  done: string,
): void {
  withProject(webhooks.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging webhooks ${verb} ${ID}`))
    .action((webhookId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const webhook = await orFail(
          service.webhooks[verb]({ projectId, webhookId }),
          `the webhook ${webhookId} cannot be ${verb}d`,
        )
        print(
          json,
          webhookBody(webhook, service.now()),
          `The webhook ${webhookId} is ${verb}d. ${done}`,
        )
      }),
    )
}

async function createWebhook(
  service: MessagingService,
  url: string,
  options: CreateOptions,
): Promise<void> {
  const { project, json, event: subscribed = ['*'], agent, description } = options
  const { id: projectId } = await projectNamed(service, project)
  const agentId = agent === undefined ? undefined : await agentIdOf(service, projectId, agent)
  const input = {
    projectId,
    url,
    events: subscribed,
    description,
    secret: options.secret ?? options.secretFile,
    agentId,
  }
  const { webhook, secret } = await orFail(
    service.webhooks.create(input),
    'the webhook cannot be created',
  )
  print(
    json,
    { ...webhookBody(webhook, service.now()), secret },
    `Created the webhook ${webhook.id}. ${shownOnce(secret)}`,
  )
}

async function updateWebhook(
  service: MessagingService,
  webhookId: string,
  options: UpdateOptions,
): Promise<void> {
  const { project, json, url, event: subscribed, agent, description, dropHeaders } = options
  if ([url, subscribed, agent, description, dropHeaders].every((one) => one === undefined))
    throw new OperatorError(
      'there is nothing to change: give --url, --event, --agent, --description or --drop-headers',
      2,
    )
  const { id: projectId } = await projectNamed(service, project)
  const agentId =
    agent === undefined || agent === '-' ? undefined : await agentIdOf(service, projectId, agent)
  const change = {
    ...{ url, events: subscribed, agentId: agent === '-' ? null : agentId },
    description: description === '-' ? null : description,
    ...(dropHeaders && { headers: null }),
  }
  const webhook = await orFail(
    service.webhooks.update({ projectId, webhookId, change }),
    `the webhook ${webhookId} cannot be changed`,
  )
  print(json, webhookBody(webhook, service.now()), `Changed the webhook ${webhookId}.`)
}

async function rotate(
  service: MessagingService,
  webhookId: string,
  { project, json, secret, secretFile, grace }: RotateOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const rotation = { projectId, webhookId, secret: secret ?? secretFile, graceMs: grace }
  const { webhook, secret: newSecret } = await orFail(
    service.webhooks.rotateSecret(rotation),
    `the secret of the webhook ${webhookId} cannot be replaced`,
  )
  const body = { ...webhookBody(webhook, service.now()), secret: newSecret }
  const until =
    body.previousSecretUntil === undefined
      ? ''
      : ` The old one signs too until ${body.previousSecretUntil}.`
  print(
    json,
    body,
    `Replaced the secret of the webhook ${webhookId}.${until} ${shownOnce(newSecret)}`,
  )
}

const agentIdOf = async (
  service: MessagingService,
  projectId: string,
  agent: string,
): Promise<string> =>
  (await orFail(service.agents.get({ projectId, agent }), `the agent ${agent} cannot be used`)).id

const shownOnce = (secret: string): string =>
  `Its secret is\n\n${secret}\n\nKeep that now: it is not shown again.`

const webhookRow = ({ id, url, events: subscribed, agentId, status }: Webhook) => ({
  ...{ id, url, events: subscribed.join(' '), agent: agentId ?? 'all' },
  state: status.kind === 'disabled' ? `disabled (${status.reason})` : status.kind,
})
