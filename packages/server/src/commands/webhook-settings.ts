import type { WebhookChange } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { onBackend, type Backend } from './backend.js'
import { orRefusal } from './client-error.js'
import { given } from './given.js'
import { example, withBackend, type BackendOptions } from './options.js'
import { print } from './output.js'
import { withSecret, type SecretOptions } from './secret.js'
import {
  cleared,
  eventsOption,
  filterOption,
  orderingOption,
  sendingOf,
  withSending,
  type WebhookOptions,
} from './webhook-options.js'
import { SECRET, shownOnce } from './webhook-secrets.js'

type CreateOptions = BackendOptions & WebhookOptions & SecretOptions
type UpdateOptions = BackendOptions &
  WebhookOptions & { readonly url?: string; readonly dropHeaders?: true }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'

export function addCreate(webhooks: Command): void {
  withSending(withSecret(withBackend(webhooks.command('create <url>')), SECRET))
    .description('create a webhook and print its secret once')
    .addOption(eventsOption('event to send, by default all'))
    .addOption(filterOption('send only events that match this JSON filter'))
    .option('--description <text>', 'description for people')
    .addOption(orderingOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging webhooks create https://example.com/hooks --event message.responded',
        `agent-messaging webhooks create https://example.com/hooks --filter '{"sessionIdPrefix":"support/"}'`,
      ),
    )
    .action((url: string, options: CreateOptions) =>
      onBackend(options, (backend) => create(backend, url, options)),
    )
}

async function create({ client }: Backend, url: string, options: CreateOptions): Promise<void> {
  const { json, event = ['*'], filter, description, ordering, secret, secretFile } = options
  const sending = sendingOf(options)
  const settings = given({
    filter: cleared(filter) ?? undefined,
    description,
    ordering,
    secret: secret ?? secretFile,
    maxConcurrency: sending.maxConcurrency ?? undefined,
    requestsPerSecond: sending.requestsPerSecond ?? undefined,
    timeoutMs: sending.timeoutMs ?? undefined,
    retrySchedule: sending.retrySchedule ?? undefined,
  })
  const created = await orRefusal(
    client.webhooks.create({ url, events: event, ...settings }),
    'cannot create the webhook',
  )
  print(json, created, `Created webhook ${created.id}. ${shownOnce(created.secret)}`)
}

export function addUpdate(webhooks: Command): void {
  withSending(withBackend(webhooks.command('update <id>')))
    .description('change the given settings of a webhook (- clears limits, timeout and retries)')
    .option('--url <url>', 'new URL')
    .addOption(eventsOption('new event to send, replacing the old ones'))
    .addOption(filterOption('new JSON filter of events, replacing the old one, - for none'))
    .option('--description <text>', 'description for people, - for none')
    .addOption(orderingOption())
    .option(
      '--drop-headers',
      'remove the custom headers (required when the URL changes to another origin)',
    )
    .addHelpText(
      'after',
      example(`agent-messaging webhooks update ${ID} --url https://example.com/new-hooks`),
    )
    .action((id: string, options: UpdateOptions) => {
      const change = changeOf(options)
      return onBackend(options, async ({ client }) => {
        const webhook = await orRefusal(
          client.webhooks.update(id, change),
          `cannot update webhook ${id}`,
        )
        print(options.json, webhook, `Updated webhook ${id}.`)
      })
    })
}

function changeOf(options: UpdateOptions): WebhookChange {
  const { url, event, filter, description, ordering, dropHeaders } = options
  const change = given({
    url,
    events: event,
    filter: cleared(filter),
    description: description === '-' ? null : description,
    ordering,
    headers: dropHeaders ? null : undefined,
    ...sendingOf(options),
  })
  if (Object.keys(change).length > 0) return change
  throw new OperatorError('nothing to update; webhooks update --help lists the settings', 2)
}
