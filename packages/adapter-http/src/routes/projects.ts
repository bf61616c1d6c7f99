import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { replyEmpty } from '../answer.js'
import { authorizeOperator } from '../authorize-operator.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer, refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn, byActor } from '../path-id.js'
import { readJson } from '../read-json.js'
import { fieldsOf, nullAsAbsent, number, pageOf, paging, query, text, textOf } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import type { BodyOf } from '../wire/body.js'
import { createdKeySchema, keyBody, keySchema } from '../wire/key.js'
import { pageBody, pageSchema } from '../wire/page.js'
import { projectBody, projectSchema } from '../wire/project.js'
import { newKey } from './keys.js'

const newProject = fieldsOf(
  nullAsAbsent({ name: text.meta({ ...textOf(100), description: 'A name for people.' }) }),
).meta({ id: 'NewProject', examples: [{ name: 'web shop' }] })

const limit = fieldsOf({ messagesPerMinute: number, burst: number }, 'must be an object').optional()
const projectChange = fieldsOf({
  sendLimits: fieldsOf({ project: limit, key: limit }, 'must be an object or null')
    .nullable()
    .meta({ description: 'Replaces the own limits. `null` removes them.' }),
}).meta({
  id: 'ProjectChange',
  examples: [{ sendLimits: { project: { messagesPerMinute: 600, burst: 100 } } }],
})

/** Projects and their keys, for the operator. The other routes belong to one project's keys. */
export const projectRoutes = (d: HttpDeps) => {
  const { service, maxBodyBytes } = d
  const isOperator = authorizeOperator(d)
  return new Hono<Env>()
    .post(
      '/v1/projects',
      about.create,
      isOperator,
      readJson(maxBodyBytes),
      validBody(newProject),
      (c) => {
        const created = service.projects.create(byActor(c, c.req.valid('json')))
        return answer(c, 201, created, projectBody)
      },
    )

    .get('/v1/projects', about.list, isOperator, validQuery(query(paging)), (c) =>
      answer(c, 200, service.projects.list(pageOf(c.req.valid('query'))), pageBody(projectBody)),
    )

    .get('/v1/projects/:id', about.get, isOperator, (c) =>
      answer(c, 200, service.projects.get(idIn(c.req.param('id'))), projectBody),
    )

    .patch(
      '/v1/projects/:id',
      about.update,
      isOperator,
      readJson(maxBodyBytes),
      validBody(projectChange),
      (c) => {
        const change = { projectId: idIn(c.req.param('id')), ...c.req.valid('json') }
        const changed = service.projects.update(byActor(c, change))
        return answer(c, 200, changed, projectBody)
      },
    )

    .post(
      '/v1/projects/:id/keys',
      about.createKey,
      isOperator,
      readJson(maxBodyBytes),
      validBody(newKey),
      async (c) => {
        const settings = { projectId: idIn(c.req.param('id')), ...c.req.valid('json') }
        const created = await service.keys.create(byActor(c, settings))
        if (created.isErr()) return refuse(c, created.error)
        const { apiKey, key } = created.value
        const body: BodyOf<typeof createdKeySchema> = { ...keyBody(apiKey), key }
        return reply(c, 201, body)
      },
    )

    .get('/v1/projects/:id/keys', about.listKeys, isOperator, validQuery(query(paging)), (c) => {
      const page = pageOf(c.req.valid('query'))
      const keys = service.projects
        .get(idIn(c.req.param('id')))
        .andThen(({ id }) => service.keys.list(id, page))
      return answer(c, 200, keys, pageBody(keyBody))
    })

    .delete('/v1/projects/:id/keys/:keyId', about.revokeKey, isOperator, async (c) => {
      const key = { projectId: idIn(c.req.param('id')), keyId: idIn(c.req.param('keyId')) }
      const revoked = await service.keys.revoke(byActor(c, key))
      return revoked.isErr() ? refuse(c, revoked.error) : replyEmpty(c)
    })
}

const tag = 'Projects'

const about = {
  create: describeRoute<Service['projects']['create']>({
    tag,
    operationId: 'createProject',
    summary: 'Create a project',
    answers: { 201: { description: 'The project', body: projectSchema } },
  }),
  list: describeRoute<Service['projects']['list']>({
    tag,
    operationId: 'listProjects',
    summary: 'List the projects, oldest first',
    answers: { 200: { description: 'One page', body: pageSchema(projectSchema) } },
  }),
  get: describeRoute<Service['projects']['get']>({
    tag,
    operationId: 'getProject',
    summary: 'Read a project',
    refusals: { project_not_found: true },
    answers: { 200: { description: 'The project', body: projectSchema } },
  }),
  update: describeRoute<Service['projects']['update']>({
    tag,
    operationId: 'updateProject',
    summary: 'Change the limits of a project',
    refusals: { project_not_found: true },
    answers: { 200: { description: 'The project', body: projectSchema } },
  }),
  createKey: describeRoute<Service['keys']['create']>({
    tag,
    operationId: 'createProjectKey',
    summary: 'Create an API key of a project',
    refusals: { key_taken: true, project_not_found: true, too_many_keys: true },
    answers: { 201: { description: 'The key, shown only here', body: createdKeySchema } },
  }),
  listKeys: describeRoute<Service['projects']['get']>({
    tag,
    operationId: 'listProjectKeys',
    summary: 'List the API keys of a project, newest first',
    refusals: { project_not_found: true },
    answers: { 200: { description: 'One page', body: pageSchema(keySchema) } },
  }),
  revokeKey: describeRoute<Service['keys']['revoke']>({
    tag,
    operationId: 'revokeProjectKey',
    summary: 'Revoke an API key of a project',
    refusals: { key_not_found: true },
    answers: { 204: { description: 'The key is revoked' } },
  }),
}
