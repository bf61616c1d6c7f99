import { PERMISSIONS } from '@org/agent-messaging-core'
import { orMissing } from '@org/agent-messaging-core/runtime'
import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer, refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn, byActor } from '../path-id.js'
import { readJson } from '../read-json.js'
import {
  fieldsOf,
  instant,
  nullAsAbsent,
  oneOf,
  pageOf,
  paging,
  query,
  text,
  textOf,
} from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import type { BodyOf } from '../wire/body.js'
import { createdKeySchema, keyBody, keySchema, permissionSchema } from '../wire/key.js'
import { pageBody, pageSchema } from '../wire/page.js'

/** The body of a request for a key. */
export const newKey = fieldsOf(
  nullAsAbsent({
    name: text.meta({ ...textOf(100), description: 'A name for people.' }),
    permissions: z
      .array(
        oneOf(PERMISSIONS).meta({ shown: permissionSchema }),
        orMissing('must be an array of permissions'),
      )
      .meta({ minItems: 1 }),
    expiresAt: instant.optional().meta({ description: 'In the future. Absent: never.' }),
  }),
).meta({
  id: 'NewApiKey',
  examples: [
    { name: 'web shop', permissions: ['project:message'], expiresAt: '2030-01-31T00:00:00Z' },
  ],
})

export const keyRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:admin')
  return new Hono<Env>()
    .post(
      '/v1/keys',
      about.create,
      mayManage,
      readJson(maxBodyBytes),
      validBody(newKey),
      async (c) => {
        const created = await service.keys.create(
          byActor(c, {
            projectId: c.get('projectId'),
            ...c.req.valid('json'),
          }),
        )
        if (created.isErr()) return refuse(c, created.error)
        const { apiKey, key } = created.value
        const body: BodyOf<typeof createdKeySchema> = { ...keyBody(apiKey), key }
        return reply(c, 201, body)
      },
    )

    .get('/v1/keys', about.list, mayManage, validQuery(query(paging)), (c) => {
      const found = service.keys.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return answer(c, 200, found, pageBody(keyBody))
    })

    .delete('/v1/keys/:id', about.revoke, mayManage, async (c) => {
      const revoked = await service.keys.revoke(
        byActor(c, { projectId: c.get('projectId'), keyId: idIn(c.req.param('id')) }),
      )
      return revoked.isErr() ? refuse(c, revoked.error) : replyEmpty(c)
    })
}

const tag = 'API keys'

const about = {
  create: describeRoute<Service['keys']['create']>({
    tag,
    operationId: 'createKey',
    summary: 'Create an API key',
    refusals: { key_taken: true, project_not_found: true, too_many_keys: true },
    answers: { 201: { description: 'The key, shown only here', body: createdKeySchema } },
  }),
  list: describeRoute<Service['keys']['list']>({
    tag,
    operationId: 'listKeys',
    summary: 'List the API keys of the project, newest first',
    answers: { 200: { description: 'One page', body: pageSchema(keySchema) } },
  }),
  revoke: describeRoute<Service['keys']['revoke']>({
    tag,
    operationId: 'revokeKey',
    summary: 'Revoke an API key',
    refusals: { key_not_found: true },
    answers: { 204: { description: 'The key is revoked' } },
  }),
}
