import type { PortalPermission } from '@org/agent-messaging-client'
import { PORTAL_PERMISSIONS } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { addApiCommand, type Invocation } from '../command.js'
import { duration, repeatable } from '../options.js'

type CreateOptions = {
  readonly permission?: readonly PortalPermission[]
  readonly readOnly?: true
  readonly lifetime?: number
  readonly title?: string
  readonly returnUrl?: string
}

export function addPortalLinks(program: Command): void {
  const links = program
    .command('portal-links')
    .description('create links that open the portal of a customer once')
  addApiCommand(links, 'create', {
    about: 'create a link to the portal of a project and print it once',
    examples: ['agent-messaging portal-links create --permission project:webhooks --lifetime 1h'],
    thing: 'the link',
    call: ({ client, options }: Invocation<CreateOptions>) => {
      const { permission: permissions, readOnly, lifetime, title, returnUrl } = options
      const lifetimeSeconds = lifetime === undefined ? undefined : Math.floor(lifetime / 1_000)
      return client.portalLinks.create(
        given({ permissions, readOnly, lifetimeSeconds, title, returnUrl }),
      )
    },
    text: ({ id, url, linkExpiresAt, expiresAt }) =>
      `${url}\n\nOpen the link before ${linkExpiresAt}. Its session ends at ${expiresAt}. The id is ${id}.`,
  })
    .addOption(
      repeatable(
        '--permission <permission>',
        'permission of the customer, by default project:webhooks',
        PORTAL_PERMISSIONS,
      ),
    )
    .option('--read-only', 'show the pages without forms, and refuse changes')
    .option('--lifetime <duration>', 'time until the session ends (default: 1h)', duration)
    .option('--title <name>', "customer's name in the portal (default: the project's name)")
    .option('--return-url <url>', 'page of your product that the portal links back to')
  addApiCommand(links, 'end <id>', {
    about: 'end the session of a link, or make the link unusable',
    thing: (id) => `portal link ${id}`,
    call: async ({ client }, id) => {
      await client.portalLinks.end(id)
      return { id, ended: true }
    },
    text: (_, id) => `Ended portal link ${id}.`,
  })
}
