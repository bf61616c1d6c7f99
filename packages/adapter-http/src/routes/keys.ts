import { PERMISSIONS } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { z } from 'zod'
import { reply, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { readJson } from '../read-json.js'
import { oneOf, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { keyBody } from '../wire/key.js'
import { pageBody } from '../wire/page.js'

const create = z.object(
  {
    name: text,
    permissions: z.array(oneOf(PERMISSIONS), 'must be an array of permissions'),
    expiresAt: z.iso
      .datetime({ offset: true, error: 'must be an instant in ISO 8601, such as 2030-01-31T00:00:00Z' })
      .transform(Date.parse)
      .optional(),
  },
  'must be a JSON object',
)

export const keyRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:admin')
  return new Hono<Env>()
    .post('/v1/keys', mayManage, readJson(maxBodyBytes), validBody(create), async (c) => {
      const created = await service.keys.create({ projectId: c.get('projectId'), ...c.req.valid('json') })
      if (created.isErr()) return refuse(c, created.error)
      const { apiKey, key } = created.value
      return reply(c, 201, { ...keyBody(apiKey), key })
    })

    .get('/v1/keys', mayManage, validQuery(z.object(paging)), async (c) => {
      const found = await service.keys.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, keyBody))
    })

    .delete('/v1/keys/:id', mayManage, async (c) => {
      const revoked = await service.keys.revoke(c.get('projectId'), idIn(c.req.param('id')))
      return revoked.isErr() ? refuse(c, revoked.error) : replyEmpty(c)
    })
}
