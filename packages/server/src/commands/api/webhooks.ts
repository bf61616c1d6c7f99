import type { Webhook } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand } from '../command.js'
import { sendsNow } from './deliveries.js'
import { fieldTable, table } from '../output.js'
import { webhookRow } from './webhook-row.js'
import { addFinishRotation, addRotate } from './webhook-secrets.js'
import { addCreate, addUpdate } from './webhook-settings.js'

export function addWebhooks(program: Command): void {
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
    about: 'send a webhook.test event to a webhook',
    thing: webhook,
    call: ({ client }, id) => client.webhooks.test(id),
    text: ({ id }) => sendsNow('event', id),
  })
  addRotate(webhooks)
  addFinishRotation(webhooks)
  addApiCommand(webhooks, 'delete <id>', {
    about: 'delete a webhook and cancel its open deliveries',
    thing: webhook,
    call: async ({ client }, id) => {
      await client.webhooks.delete(id)
      return { id, deleted: true }
    },
    text: ({ id }) => `Deleted webhook ${id}.`,
  })
}

const webhook = (id: string) => `webhook ${id}`

const isNow =
  (state: string, note = '') =>
  (_: Webhook, id: string) =>
    `Webhook ${id} is ${state}.${note}`
