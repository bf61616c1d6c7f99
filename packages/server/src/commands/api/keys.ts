import type { ApiKey, Permission } from '@org/agent-messaging-client'
import { PERMISSIONS } from '@org/agent-messaging-core'
import type { Command } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { instant, repeatable } from '../options.js'
import { table } from '../output.js'

type CreateOptions = {
  readonly permission: readonly (Permission | 'all')[]
  readonly expiresAt?: string
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys')
  addApiCommand(keys, 'create <name>', {
    about: 'create an API key and print it once',
    examples: ['agent-messaging keys create web-app --permission project:message'],
    thing: 'the key',
    call: ({ client, options }: Invocation<CreateOptions>, name) => {
      const { permission, expiresAt } = options
      return client.keys.create({
        name,
        permissions: permission.includes('all') ? PERMISSIONS : (permission as Permission[]),
        ...(expiresAt !== undefined && { expiresAt }),
      })
    },
    text: ({ id, key }) =>
      `${key}\n\nStore this key now. The server does not show it again. The id is ${id}.`,
  })
    .addOption(permissionOption())
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

/** Mandatory, so that no key gets permissions by default. */
const permissionOption = () =>
  repeatable('--permission <permission>', 'permission of the key', [
    ...PERMISSIONS,
    'all',
  ]).makeOptionMandatory()

const row = ({ id, name, permissions, createdAt, expiresAt, revokedAt }: ApiKey) => ({
  id,
  name,
  permissions: permissions.join(' '),
  createdAt,
  state:
    revokedAt !== undefined
      ? `revoked ${revokedAt}`
      : expiresAt !== undefined
        ? `valid until ${expiresAt}`
        : 'valid',
})
