import type { ApiKey, Permission, Role } from '@org/agent-messaging-client'
import { PERMISSIONS } from '@org/agent-messaging-core'
import { ROLE_NAMES } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import { type Command, Option } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { instant, repeatable } from '../options.js'
import { table } from '../output.js'

type CreateOptions = {
  readonly role?: Role
  readonly permission?: readonly (Permission | 'all')[]
  readonly expiresAt?: string
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys')
  addApiCommand(keys, 'create <name>', {
    about: 'create an API key and print it once',
    examples: [
      'agent-messaging keys create web-app --permission project:message',
      'agent-messaging keys create ann --role support',
    ],
    thing: 'the key',
    call: ({ client, options }: Invocation<CreateOptions>, name) => {
      const { role, permission, expiresAt } = options
      const permissions = permission?.includes('all') ? PERMISSIONS : (permission as Permission[])
      return client.keys.create({ name, ...given({ role, permissions, expiresAt }) })
    },
    text: ({ id, key }) =>
      `${key}\n\nStore this key now. The server does not show it again. The id is ${id}.`,
  })
    .addOption(
      new Option('--role <role>', 'role of the key, instead of permissions').choices(ROLE_NAMES),
    )
    .addOption(
      repeatable('--permission <permission>', 'permission of the key', [...PERMISSIONS, 'all']),
    )
    .option(
      '--expires-at <time>',
      'expiry time, such as 2030-01-31 (without this option, the key never expires)',
      instant,
    )
  addApiCommand(keys, 'list', {
    about: 'list API keys without their secret values, newest first',
    examples: ['agent-messaging keys list --project support'],
    thing: 'the keys',
    call: ({ client }) => firstOf(client.keys.list()),
    text: (found) => table(found.map(row), 'No API keys.'),
  })
  addApiCommand(keys, 'revoke <id>', {
    about: 'revoke an API key immediately and permanently',
    thing: (id) => `key ${id}`,
    call: async ({ client }, id) => {
      await client.keys.revoke(id)
      return { id, revoked: true }
    },
    text: (_, id) => `Revoked key ${id}.`,
  })
}

const row = ({ id, name, role, permissions, createdAt, expiresAt, revokedAt }: ApiKey) => ({
  id,
  name,
  permissions: role ?? permissions.join(' '),
  createdAt,
  state:
    revokedAt !== undefined
      ? `revoked ${revokedAt}`
      : expiresAt !== undefined
        ? `valid until ${expiresAt}`
        : 'valid',
})
