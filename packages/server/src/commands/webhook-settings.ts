import type { WebhookChange } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import type { Backend } from './backend.js'
import { addApiCommand, ID } from './command.js'
import { given } from './given.js'
import type { BackendOptions } from './options.js'
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

export function addCreate(webhooks: Command): void {
  const create = addApiCommand(webhooks, 'create <url>', {
    about: 'create a webhook and print its secret once',
    examples: [
      'agent-messaging webhooks create https://example.com/hooks --event message.responded',
      `agent-messaging webhooks create https://example.com/hooks --filter '{"sessionIdPrefix":"support/"}'`,
    ],
    thing: 'the webhook',
    call: ({ client, options }: Backend & { options: CreateOptions }, url) =>
      client.webhooks.create({ url, ...settingsOf(options) }),
    text: ({ id, secret }) => `Created webhook ${id}. ${shownOnce(secret)}`,
  })
  withSending(withSecret(create, SECRET))
    .addOption(eventsOption('event to send, by default all'))
    .addOption(filterOption('send only events that match this JSON filter'))
    .option('--description <text>', 'description for people')
    .addOption(orderingOption())
}

function settingsOf(options: CreateOptions) {
  const { event = ['*'], filter, description, ordering, secret, secretFile } = options
  const sending = sendingOf(options)
  return {
    events: event,
    ...given({
      filter: cleared(filter) ?? undefined,
      description,
      ordering,
      secret: secret ?? secretFile,
      maxConcurrency: sending.maxConcurrency ?? undefined,
      requestsPerSecond: sending.requestsPerSecond ?? undefined,
      timeoutMs: sending.timeoutMs ?? undefined,
      retrySchedule: sending.retrySchedule ?? undefined,
    }),
  }
}

export function addUpdate(webhooks: Command): void {
  const update = addApiCommand(webhooks, 'update <id>', {
    about: 'change the given settings of a webhook (- clears limits, timeout and retries)',
    examples: [`agent-messaging webhooks update ${ID} --url https://example.com/new-hooks`],
    thing: (id) => `webhook ${id}`,
    check: changeOf,
    call: ({ client, options }, id) => client.webhooks.update(id, changeOf(options)),
    text: (_, id) => `Updated webhook ${id}.`,
  })
  withSending(update)
    .option('--url <url>', 'new URL')
    .addOption(eventsOption('new event to send, replacing the old ones'))
    .addOption(filterOption('new JSON filter of events, replacing the old one, - for none'))
    .option('--description <text>', 'description for people, - for none')
    .addOption(orderingOption())
    .option(
      '--drop-headers',
      'remove the custom headers (required when the URL changes to another origin)',
    )
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
