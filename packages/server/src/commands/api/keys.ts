import type {
  ApiKey,
  Permission,
  PlatformKey,
  PlatformPermission,
  Role,
} from '@org/agent-messaging-client'
import { PERMISSIONS } from '@org/agent-messaging-core'
import { PLATFORM_PERMISSIONS, ROLE_NAMES } from '@org/agent-messaging-core/host'
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

export function addKeys(program: Command) {
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
    text: shownOnce,
  })
    .addOption(
      new Option('--role <role>', 'role of the key, instead of permissions').choices(ROLE_NAMES),
    )
    .addOption(
      repeatable('--permission <permission>', 'permission of the key', [...PERMISSIONS, 'all']),
    )
    .addOption(expiryOption())
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
    call: ({ client }, id) => client.keys.revoke(id),
    done: 'revoked',
  })
}

type PlatformOptions = {
  readonly permission: readonly PlatformPermission[]
  readonly expiresAt?: string
}

export function addPlatformKeys(program: Command) {
  const keys = program.command('platform-keys').description('manage keys that act on all projects')
  addApiCommand(keys, 'create <name>', {
    isOfOperator: true,
    about: 'create a platform key and print it once',
    examples: [
      'agent-messaging platform-keys create our-product --permission platform:projects --permission project:portals',
    ],
    thing: 'the platform key',
    call: ({ client, options }: Invocation<PlatformOptions>, name) => {
      const { permission: permissions, expiresAt } = options
      return client.platformKeys.create({ name, permissions, ...given({ expiresAt }) })
    },
    text: shownOnce,
  })
    .addOption(
      repeatable(
        '--permission <permission>',
        'permission of the key',
        PLATFORM_PERMISSIONS,
      ).makeOptionMandatory(),
    )
    .addOption(expiryOption())
  addApiCommand(keys, 'list', {
    isOfOperator: true,
    about: 'list the platform keys without their secret values, newest first',
    thing: 'the platform keys',
    call: ({ client }) => firstOf(client.platformKeys.list()),
    text: (found) => table(found.map(row), 'No platform keys.'),
  })
  addApiCommand(keys, 'revoke <id>', {
    isOfOperator: true,
    about: 'revoke a platform key immediately and permanently',
    thing: (id) => `platform key ${id}`,
    call: ({ client }, id) => client.platformKeys.revoke(id),
    done: 'revoked',
  })
}

const expiryOption = () =>
  new Option(
    '--expires-at <time>',
    'expiry time, such as 2030-01-31 (without this option, the key never expires)',
  ).argParser(instant)

const shownOnce = ({ id, key }: { readonly id: string; readonly key: string }) =>
  `${key}\n\nStore this key now. The server does not show it again. The id is ${id}.`

const row = (key: ApiKey | PlatformKey) => ({
  id: key.id,
  name: key.name,
  permissions: ('role' in key && key.role) || key.permissions.join(' '),
  ...stateOf(key),
})

const stateOf = ({ createdAt, expiresAt, revokedAt }: ApiKey | PlatformKey) => ({
  createdAt,
  state:
    revokedAt !== undefined
      ? `revoked ${revokedAt}`
      : expiresAt !== undefined
        ? `valid until ${expiresAt}`
        : 'valid',
})
