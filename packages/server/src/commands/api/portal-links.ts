import { portalSettings } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { addApiCommand } from '../command.js'
import { duration } from '../options.js'
import { settingOptions } from './setting-options.js'

const settings = settingOptions(portalSettings, {
  permissions: { flags: '--permission <permission>' },
  readOnly: { flags: '--read-only' },
  lifetimeSeconds: {
    flags: '--lifetime <duration>',
    parse: (text) => Math.floor(duration(text) / 1_000),
  },
})

export function addPortalLinks(program: Command) {
  const links = program
    .command('portal-links')
    .description('create links that open the portal of a customer once')
  const create = addApiCommand(links, 'create', {
    about: 'create a link to the portal of a project and print it once',
    examples: ['agent-messaging portal-links create --permission project:webhooks --lifetime 1h'],
    thing: 'the link',
    call: ({ client, options }) => client.portalLinks.create(given(settings.read(options))),
    text: ({ id, url, linkExpiresAt, expiresAt }) =>
      `${url}\n\nOpen the link before ${linkExpiresAt}. Its session ends at ${expiresAt}. The id is ${id}.`,
  })
  settings.addTo(create)
  addApiCommand(links, 'end <id>', {
    about: 'end the session of a link, or make the link unusable',
    thing: (id) => `portal link ${id}`,
    call: ({ client }, id) => client.portalLinks.end(id),
    done: 'ended',
  })
}
