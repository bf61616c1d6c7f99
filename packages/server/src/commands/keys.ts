import {
  PERMISSIONS,
  type ApiKey,
  type MessagingService,
  type Permission,
} from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { keyBody } from '@org/agent-messaging-http'
import type { Command } from 'commander'
import { allPages } from '../all-pages.js'
import { projectNamed } from '../find.js'
import { orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import {
  example,
  instant,
  jsonOption,
  projectOption,
  repeatable,
  type ProjectOptions,
} from './options.js'
import { print, table } from './output.js'

type CreateOptions = ProjectOptions & {
  readonly permission: readonly (Permission | 'all')[]
  readonly expiresAt?: number
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('create, list and revoke API keys')

  keys
    .command('create <name>')
    .description('create an API key; it is shown this once')
    .addOption(permissionOption())
    .option(
      '--expires-at <instant>',
      'when it expires, such as 2030-01-31 (never, unless given)',
      instant,
    )
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('agent-messaging keys create web-app --permission project:message'),
    )
    .action((name: string, options: CreateOptions) =>
      onDatabase((service) => createKey(service, name, options)),
    )

  keys
    .command('list')
    .description('list the API keys of a project, newest first, without the keys themselves')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging keys list --project support'))
    .action(({ project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id } = await projectNamed(service, project)
        const found = await allPages(
          (page) => service.keys.list(id, page),
          'the keys cannot be listed',
        )
        print(json, found.map(keyBody), table(found.map(keyRow), 'There is no key yet.'))
      }),
    )

  keys
    .command('revoke <id>')
    .description('end an API key, at once and for good')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('agent-messaging keys revoke 0198c2f4-7a3b-7cde-8f01-23456789abcd'),
    )
    .action((keyId: string, { project, json }: ProjectOptions) =>
      onDatabase(async (service) => {
        const { id } = await projectNamed(service, project)
        await orFail(service.keys.revoke(id, keyId), `the key ${keyId} cannot be revoked`)
        print(json, { id: keyId, revoked: true }, `Revoked the key ${keyId}.`)
      }),
    )
}

/** No default: what a key may do is said by who makes it. */
const permissionOption = () =>
  repeatable('--permission <permission>', 'what it may do', [
    ...PERMISSIONS,
    'all',
  ]).makeOptionMandatory()

async function createKey(
  service: MessagingService,
  name: string,
  { project, json, permission, expiresAt }: CreateOptions,
): Promise<void> {
  const { id: projectId } = await projectNamed(service, project)
  const permissions = permission.includes('all')
    ? PERMISSIONS
    : (permission as readonly Permission[])
  const { apiKey, key } = await orFail(
    service.keys.create({ projectId, name, permissions, expiresAt }),
    'the key cannot be created',
  )
  print(
    json,
    { ...keyBody(apiKey), key },
    `${key}\n\nKeep it now: it is not shown again. Its id is ${apiKey.id}.`,
  )
}

const keyRow = ({ id, name, permissions, createdAt, expiresAt, revokedAt }: ApiKey) => ({
  ...{ id, name, permissions: permissions.join(' '), createdAt: toIso(createdAt) },
  state:
    revokedAt !== undefined
      ? `revoked ${toIso(revokedAt)}`
      : expiresAt !== undefined
        ? `until ${toIso(expiresAt)}`
        : 'good',
})
