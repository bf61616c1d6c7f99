import type { Command } from 'commander'
import { firstOf, onBackend } from './backend.js'
import { orRefusal } from './client-error.js'
import { example, withBackend, type BackendOptions } from './options.js'
import { fieldTable, print, table } from './output.js'
import { webhookRow } from './webhook-row.js'
import { addFinishRotation, addRotate } from './webhook-secrets.js'
import { addCreate, addUpdate } from './webhook-settings.js'

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'

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

function addList(webhooks: Command): void {
  withBackend(webhooks.command('list'))
    .description('list the webhooks of a project with their health, newest first')
    .addHelpText(
      'after',
      example(
        'agent-messaging webhooks list',
        'agent-messaging webhooks list --json | jq .[].failingSince',
      ),
    )
    .action((options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const found = await firstOf(client.webhooks.list(), Infinity, 'cannot list the webhooks')
        print(options.json, found, table(found.map(webhookRow), 'No webhooks.'))
      }),
    )
}

function addShow(webhooks: Command): void {
  withBackend(webhooks.command('show <id>'))
    .description('show a webhook with its settings and its health')
    .addHelpText('after', example(`agent-messaging webhooks show ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const webhook = await orRefusal(client.webhooks.get(id), `cannot show webhook ${id}`)
        print(options.json, webhook, fieldTable(webhook))
      }),
    )
}

function addSwitch(webhooks: Command, verb: 'enable' | 'disable', description: string): void {
  withBackend(webhooks.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging webhooks ${verb} ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const webhook = await orRefusal(client.webhooks[verb](id), `cannot ${verb} webhook ${id}`)
        const note = verb === 'disable' ? ' Its deliveries are kept until you enable it.' : ''
        print(options.json, webhook, `Webhook ${id} is ${verb}d.${note}`)
      }),
    )
}

function addPause(webhooks: Command, verb: 'pause' | 'resume', description: string): void {
  withBackend(webhooks.command(`${verb} <id>`))
    .description(description)
    .addHelpText('after', example(`agent-messaging webhooks ${verb} ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const paused = verb === 'pause'
        const webhook = await orRefusal(
          client.webhooks.update(id, { paused }),
          `cannot ${verb} webhook ${id}`,
        )
        print(options.json, webhook, `Webhook ${id} is ${paused ? 'paused' : 'resumed'}.`)
      }),
    )
}

function addTest(webhooks: Command): void {
  withBackend(webhooks.command('test <id>'))
    .description('send a webhook.test event to a webhook')
    .addHelpText('after', example(`agent-messaging webhooks test ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const delivery = await orRefusal(client.webhooks.test(id), `cannot test webhook ${id}`)
        print(
          options.json,
          delivery,
          `A running server sends the event now. To see the result, run: agent-messaging deliveries show ${delivery.id}`,
        )
      }),
    )
}

function addDelete(webhooks: Command): void {
  withBackend(webhooks.command('delete <id>'))
    .description('delete a webhook and cancel its open deliveries')
    .addHelpText('after', example(`agent-messaging webhooks delete ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        await orRefusal(client.webhooks.delete(id), `cannot delete webhook ${id}`)
        print(options.json, { id, deleted: true }, `Deleted webhook ${id}.`)
      }),
    )
}
