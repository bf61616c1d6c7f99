import type { NewWebhook, TestEvent, Webhook } from '@org/agent-messaging-client'
import { type Command, InvalidArgumentError } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, ID, type Invocation } from '../command.js'
import { sendsNow } from './deliveries.js'
import { fieldTable, table } from '../output.js'
import { webhookRow } from './webhook-row.js'
import { given } from '@org/agent-messaging-core/runtime'
import { eventNameRule, subscriptionRule, webhookSettings } from '@org/agent-messaging-core/host'
import { schedule } from '../../settings/config-values.js'
import { OperatorError } from '../../operator-error.js'
import { duration, listed, ruled } from '../options.js'
import { settingOptions } from './setting-options.js'
import { withSecret, type SecretOptions } from '../secret.js'

export function addWebhooks(program: Command) {
  const webhooks = program.command('webhooks').description('manage webhooks')
  addCreate(webhooks)
  addApiCommand(webhooks, 'list', {
    about: 'list the webhooks of a project with their health, newest first',
    examples: [
      'agent-messaging webhooks list',
      'agent-messaging webhooks list --json | jq .[].failingSince',
    ],
    thing: 'the webhooks',
    call: ({ client }) => firstOf(client.webhooks.list()),
    text: (found) => table(found.map(webhookRow), 'No webhooks.'),
  })
  addApiCommand(webhooks, 'show <id>', {
    about: 'show a webhook with its settings and its health',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.get(id),
    text: fieldTable,
  })
  addUpdate(webhooks)
  addApiCommand(webhooks, 'enable <id>', {
    about: 'enable a webhook and send the deliveries that were kept for it',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.enable(id),
    text: isNow('enabled'),
  })
  addApiCommand(webhooks, 'disable <id>', {
    about: 'disable a webhook and keep its deliveries, up to a limit',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.disable(id),
    text: isNow('disabled', ' Its deliveries are kept until you enable it.'),
  })
  addApiCommand(webhooks, 'pause <id>', {
    about: 'keep all deliveries of a webhook and send nothing',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.update(id, { paused: true }),
    text: isNow('paused'),
  })
  addApiCommand(webhooks, 'resume <id>', {
    about: 'send the deliveries of a paused webhook',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.update(id, { paused: false }),
    text: isNow('resumed'),
  })
  addApiCommand(webhooks, 'test <id>', {
    about: 'send a webhook.test event, or a sample of another event, to a webhook',
    examples: ['agent-messaging webhooks test <id> --event message.responded'],
    thing: webhook,
    call: ({ client, options: { event } }: Invocation<TestEvent>, id) =>
      client.webhooks.test(id, given({ event })),
    text: ({ id }) => sendsNow('event', id),
  }).option('--event <name>', 'event or event type whose example is sent', ruled(eventNameRule))
  addRotate(webhooks)
  addFinishRotation(webhooks)
  addApiCommand(webhooks, 'delete <id>', {
    about: 'delete a webhook and cancel its open deliveries',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.delete(id),
    done: 'deleted',
  })
}

const webhook = (id: string) => `webhook ${id}`

const isNow =
  (state: string, note = '') =>
  (_: Webhook, id: string) =>
    `Webhook ${id} is ${state}.${note}`

type WebhookOptions = { readonly event?: readonly string[] }
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

const eventsOption = (about: string) =>
  listed('--event <name>', `${about} (repeatable)`, ruled(subscriptionRule))

function addCreate(webhooks: Command) {
  const create = addApiCommand(webhooks, 'create <url>', {
    about: 'create a webhook and print its secret once',
    examples: [
      'agent-messaging webhooks create https://example.com/hooks --event message.responded',
      `agent-messaging webhooks create https://example.com/hooks --filter '{"sessionIdPrefix":"support/"}'`,
    ],
    thing: 'the webhook',
    call: ({ client, options }: Invocation<CreateOptions>, url) => {
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

function addUpdate(webhooks: Command) {
  const update = addApiCommand(webhooks, 'update <id>', {
    about: 'change the given settings of a webhook (- clears a setting)',
    examples: [`agent-messaging webhooks update ${ID} --url https://example.com/new-hooks`],
    thing: webhook,
    check: changeOf,
    call: ({ client, options }, id) => client.webhooks.update(id, changeOf(options)),
    done: 'updated',
  })
  settings.addTo(update.option('--url <url>', 'new URL'))
  update
    .addOption(eventsOption('new event to send, replacing the old ones'))
    .option(
      '--drop-headers',
      'remove the custom headers (required when the URL changes to another origin)',
    )
}

function changeOf(options: UpdateOptions) {
  const { url, event: events, dropHeaders } = options
  const headers = dropHeaders && null
  const change = given({ url, events, headers, ...settings.read(options) })
  if (Object.keys(change).length > 0) return change
  throw new OperatorError('nothing to update; webhooks update --help lists the settings', 2)
}

type RotateOptions = SecretOptions & { readonly grace?: number }

const SECRET = 'your own secret: whsec_ and 24 to 64 bytes as base64 (default: a random secret)'

function addRotate(webhooks: Command) {
  const rotate = addApiCommand(webhooks, 'rotate <id>', {
    about: 'replace the secret of a webhook and print the new one once',
    examples: [
      `agent-messaging webhooks rotate ${ID}`,
      `agent-messaging webhooks rotate ${ID} --grace 0s`,
    ],
    thing: (id) => `the secret of webhook ${id}`,
    call: ({ client, options }: Invocation<RotateOptions>, id) => {
      const { secret, secretFile, grace } = options
      return client.webhooks.rotateSecret(
        id,
        given({ secret: secret ?? secretFile, graceMs: grace }),
      )
    },
    text: ({ previousSecretUntil: until, secret }, id) => {
      const note = until === undefined ? '' : ` The old secret also signs until ${until}.`
      return `Rotated the secret of webhook ${id}.${note} ${shownOnce(secret)}`
    },
  })
  withSecret(rotate, SECRET).option(
    '--grace <duration>',
    'how long the old secret also signs, such as 1h or 0s (default: 24h)',
    duration,
  )
}

const addFinishRotation = (webhooks: Command) =>
  addApiCommand(webhooks, 'finish-rotation <id>', {
    about: 'stop signing with the old secret now',
    verb: 'finish',
    thing: (id) => `the rotation of webhook ${id}`,
    call: ({ client }, id) => client.webhooks.finishRotation(id),
    text: () => 'Only the new secret signs from now on.',
  })

const shownOnce = (secret: string) =>
  `Its secret is:\n\n${secret}\n\nStore the secret now. The server does not show it again.`
