import { EVENT_NAMES, type MessagingService, type SubscribableEvent, type Webhook } from '@org/agent-messaging-core'
import { webhookBody } from '@org/agent-messaging-http'
import type { Command } from 'commander'
import { allPages } from '../all-pages.js'
import { projectNamed } from '../find.js'
import { orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { example, jsonOption, projectOption, repeatable } from './options.js'
import { print, table } from './output.js'

type Common = { readonly project: string; readonly json?: true }
type CreateOptions = Common & {
  readonly event?: readonly (SubscribableEvent | '*')[]
  readonly agent?: string
  readonly description?: string
  readonly secret?: string
}

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('create, list and delete webhooks')

  webhooks
    .command('create <url>')
    .description('register a receiver; its secret is shown this once')
    .addOption(repeatable('--event <name>', 'what it is sent, all unless given', ['*', ...EVENT_NAMES]))
    .option('--agent <agent>', 'only the events of this agent, by name or id')
    .option('--description <text>', 'for people')
    .option('--secret <secret>', 'your own: whsec_ and base64 of 24 to 64 bytes (made, unless given)')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging webhooks create https://example.com/hooks --event message.responded'))
    .action((url: string, options: CreateOptions) => onDatabase((service) => createWebhook(service, url, options)))

  webhooks
    .command('list')
    .description('list the webhooks of a project, newest first')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging webhooks list'))
    .action(({ project, json }: Common) =>
      onDatabase(async (service) => {
        const { id } = await projectNamed(service, project)
        const found = await allPages((page) => service.webhooks.list(id, page), 'the webhooks cannot be listed')
        const bodies = found.map((webhook) => webhookBody(webhook, service.now()))
        print(json, bodies, table(found.map(webhookRow), 'There is no webhook yet.'))
      }),
    )

  webhooks
    .command('delete <id>')
    .description('delete a webhook; its open deliveries are cancelled')
    .addOption(projectOption())
    .addHelpText('after', example('agent-messaging webhooks delete 0198c2f4-7a3b-7cde-8f01-23456789abcd'))
    .action((webhookId: string, { project }: Common) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        await orFail(service.webhooks.delete({ projectId, webhookId }), `the webhook ${webhookId} cannot be deleted`)
        console.log(`Deleted the webhook ${webhookId}.`)
      }),
    )
}

async function createWebhook(
  service: MessagingService,
  url: string,
  { project, json, event: events = ['*'], agent, ...settings }: CreateOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const found = agent === undefined ? undefined : await orFail(service.agents.get({ projectId, agent }), `there is no agent ${agent}`)
  const { description, secret: ownSecret } = settings
  const input = { projectId, url, events, description, secret: ownSecret, agentId: found?.id }
  const { webhook, secret } = await orFail(service.webhooks.create(input), 'the webhook cannot be created')
  print(
    json,
    { ...webhookBody(webhook, service.now()), secret },
    `Created the webhook ${webhook.id}. Its secret is\n\n${secret}\n\nKeep that now: it is not shown again.`,
  )
}

const webhookRow = ({ id, url, events, agentId, status }: Webhook) => ({
  ...{ id, url, events: events.join(' '), agent: agentId ?? 'all', state: status.kind },
})
