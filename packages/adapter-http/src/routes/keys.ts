import { PERMISSIONS } from '@org/agent-messaging-core'
import {
  apiKeySettings,
  ROLE_NAMES,
  shownCreatedKey,
  shownKey,
  type ApiKeySettings,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import { listField, requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, refIn, inProject } from '../path-id.js'
import { routesOf, shown, shownPage, withoutBody } from '../route.js'
import { page, creationOf } from '../schemas.js'
import { at, uuid, named, namedEnum } from '../wire/body.js'

const permissionSchema = namedEnum('Permission', PERMISSIONS)
const roleSchema = namedEnum('Role', ROLE_NAMES)
const described = requestFields<ApiKeySettings>(apiKeySettings)

/** The body of a request for a key. */
export const newKey = creationOf(
  'NewApiKey',
  {
    ...described,
    role: described.role.meta({ shown: roleSchema }),
    permissions: listField(apiKeySettings.permissions, permissionSchema).optional(),
  },
  {
    examples: [
      { name: 'web shop', permissions: ['project:message'], expiresAt: '2030-01-31T00:00:00Z' },
    ],
  },
)

export const keySchema = named('ApiKey', {
  id: uuid,
  name: z.string(),
  permissions: z.array(permissionSchema),
  role: roleSchema
    .optional()
    .describe('Present if the key has exactly the permissions of the role.'),
  createdAt: at,
  expiresAt: at.optional(),
  revokedAt: at.optional(),
})

const createdKeySchema = keySchema
  .extend({ key: z.string().describe('The key. Shown only in this answer.') })
  .meta({ id: 'CreatedApiKey' })

export const createdKey = shown('The key, shown only here', createdKeySchema, shownCreatedKey, 201)

export const keyRoutes = (d: HttpDeps) => {
  const { keys } = d.service
  const route = routesOf(d, { tag: 'API keys' })
  return new Hono<Env>()
    .post(
      '/v1/keys',
      route(
        {
          operationId: 'createKey',
          call: 'keys.create',
          summary: 'Create an API key',
          body: newKey,
          refusals: ['key_taken', 'project_not_found', 'too_many_keys'],
          answer: createdKey,
        },
        (c, sent) => keys.create(byActor(c, inProject(c, sent))),
      ),
    )
    .get(
      '/v1/keys',
      route(
        {
          operationId: 'listKeys',
          call: 'keys.list',
          summary: 'List the API keys of the project, newest first',
          query: page,
          answer: shownPage(keySchema, shownKey),
        },
        (c, asked) => keys.list(inProject(c, asked)),
      ),
    )
    .delete(
      '/v1/keys/:id',
      route(
        {
          operationId: 'revokeKey',
          call: 'keys.revoke',
          summary: 'Revoke an API key',
          refusals: ['key_not_found'],
          answer: withoutBody('The key is revoked'),
        },
        (c) => keys.revoke(byActor(c, refIn(c, 'keyId'))),
      ),
    )
}
