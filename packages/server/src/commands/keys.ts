import {
  PERMISSIONS,
  type ApiKey,
  type MessagingService,
  type Permission,
} from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { keyBody } from '@org/agent-messaging-http'
import type { Command } from 'commander'
import { allPages } from '@org/agent-messaging-node/wiring'
import { orFail } from '../operator-error.js'
import { onProject } from './admin.js'
import { example, instant, repeatable, withProject, type ProjectOptions } from './options.js'
import { print, table } from './output.js'

type CreateOptions = ProjectOptions & {
  readonly permission: readonly (Permission | 'all')[]
  readonly expiresAt?: number
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys')

  withProject(
    keys
      .command('create <name>')
      .description('create an API key and print it once')
      .addOption(permissionOption())
      .option(
        '--expires-at <time>',
        'expiry time, such as 2030-01-31 (without this option, the key never expires)',
        instant,
      ),
  )
    .addHelpText(
      'after',
      example('agent-messaging keys create web-app --permission project:message'),
    )
    .action((name: string, options: CreateOptions) =>
      onProject(options.project, (service, projectId) =>
        createKey(service, projectId, name, options),
      ),
    )

  withProject(keys.command('list'))
    .description('list API keys without their secret values, newest first')
    .addHelpText('after', example('agent-messaging keys list --project support'))
    .action(({ project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        const found = await allPages(
          (page) => service.keys.list(projectId, page),
          'cannot list the keys',
        )
        print(json, found.map(keyBody), table(found.map(keyRow), 'No API keys.'))
      }),
    )

  withProject(keys.command('revoke <id>'))
    .description('revoke an API key immediately and permanently')
    .addHelpText(
      'after',
      example('agent-messaging keys revoke 0198c2f4-7a3b-7cde-8f01-23456789abcd'),
    )
    .action((keyId: string, { project, json }: ProjectOptions) =>
      onProject(project, async (service, projectId) => {
        await orFail(service.keys.revoke(projectId, keyId), `cannot revoke key ${keyId}`)
        print(json, { id: keyId, revoked: true }, `Revoked key ${keyId}.`)
      }),
    )
}

/** Mandatory, so that no key gets permissions by default. */
const permissionOption = () =>
  repeatable('--permission <permission>', 'permission of the key', [
    ...PERMISSIONS,
    'all',
  ]).makeOptionMandatory()

async function createKey(
  service: MessagingService,
  projectId: string,
  name: string,
  { json, permission, expiresAt }: CreateOptions,
): Promise<void> {
  const permissions = permission.includes('all')
    ? PERMISSIONS
    : (permission as readonly Permission[])
  const { apiKey, key } = await orFail(
    service.keys.create({ projectId, name, permissions, expiresAt }),
    'cannot create the key',
  )
  print(
    json,
    { ...keyBody(apiKey), key },
    `${key}\n\nStore this key now. The server does not show it again. The id is ${apiKey.id}.`,
  )
}

const keyRow = ({ id, name, permissions, createdAt, expiresAt, revokedAt }: ApiKey) => ({
  id,
  name,
  permissions: permissions.join(' '),
  createdAt: toIso(createdAt),
  state:
    revokedAt !== undefined
      ? `revoked ${toIso(revokedAt)}`
      : expiresAt !== undefined
        ? `valid until ${toIso(expiresAt)}`
        : 'valid',
})
