import type { NewWebhook, WebhookChange } from '@org/agent-messaging-client'
import { EVENT_NAMES } from '@org/agent-messaging-core'
import { given, webhookSettings } from '@org/agent-messaging-core/runtime'
import { InvalidArgumentError, type Command } from 'commander'
import { schedule } from '../../settings/config-values.js'
import { OperatorError } from '../../operator-error.js'
import type { Backend } from '../backend.js'
import { addApiCommand, ID } from '../command.js'
import { duration, repeatable, type BackendOptions } from '../options.js'
import { settingOptions } from './setting-options.js'
import { withSecret, type SecretOptions } from '../secret.js'
import { SECRET, shownOnce } from './webhook-secrets.js'

type WebhookOptions = BackendOptions & { readonly event?: readonly string[] }
type CreateOptions = WebhookOptions & SecretOptions
type UpdateOptions = WebhookOptions & { readonly url?: string; readonly dropHeaders?: true }

const settings = settingOptions(webhookSettings, {
  filter: { flags: '--filter <json>', example: '{"agentId":"…"}' },
  requestsPerSecond: { flags: '--rate <number>' },
  timeoutMs: { flags: '--timeout <duration>', example: '20s', parse: duration },
  retrySchedule: { flags: '--retry-schedule <delays>', example: '5s,5m,2h', parse: delays },
})

function delays(text: string) {
  const parsed = schedule.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('Expected up to 50 delays of at most 30d, such as 5s,5m,2h.')
}

const eventsOption = (about: string) => repeatable('--event <name>', about, ['*', ...EVENT_NAMES])

export function addCreate(webhooks: Command): void {
  const create = addApiCommand(webhooks, 'create <url>', {
    about: 'create a webhook and print its secret once',
    examples: [
      'agent-messaging webhooks create https://example.com/hooks --event message.responded',
      `agent-messaging webhooks create https://example.com/hooks --filter '{"sessionIdPrefix":"support/"}'`,
    ],
    thing: 'the webhook',
    call: ({ client, options }: Backend & { options: CreateOptions }, url) => {
      const { event: events = ['*'], secret = options.secretFile } = options
      // The service takes null in a creation as absent.
      const webhook = given({ url, events, secret, ...settings.read(options) }) as NewWebhook
      return client.webhooks.create(webhook)
    },
    text: ({ id, secret }) => `Created webhook ${id}. ${shownOnce(secret)}`,
  })
  settings.addTo(withSecret(create, SECRET))
  create.addOption(eventsOption('event to send, by default all'))
}

export function addUpdate(webhooks: Command): void {
  const update = addApiCommand(webhooks, 'update <id>', {
    about: 'change the given settings of a webhook (- clears a setting)',
    examples: [`agent-messaging webhooks update ${ID} --url https://example.com/new-hooks`],
    thing: (id) => `webhook ${id}`,
    check: changeOf,
    call: ({ client, options }, id) => client.webhooks.update(id, changeOf(options)),
    text: (_, id) => `Updated webhook ${id}.`,
  })
  settings.addTo(update.option('--url <url>', 'new URL'))
  update
    .addOption(eventsOption('new event to send, replacing the old ones'))
    .option(
      '--drop-headers',
      'remove the custom headers (required when the URL changes to another origin)',
    )
}

function changeOf(options: UpdateOptions): WebhookChange {
  const { url, event: events, dropHeaders } = options
  const headers = dropHeaders && null
  const change = given({ url, events, headers, ...settings.read(options) })
  if (Object.keys(change).length > 0) return change
  throw new OperatorError('nothing to update; webhooks update --help lists the settings', 2)
}
