import type { Project } from '@org/agent-messaging-core'
import {
  nameSetting,
  sendLimitSettings,
  shownKey,
  withIso,
  type SendLimit,
} from '@org/agent-messaging-core/host'
import { chain } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorizeOperator } from '../authorize.js'
import { requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, idIn } from '../path-id.js'
import { routesOf, shown, shownPage, withoutBody } from '../route.js'
import { fieldsOf, page } from '../schemas.js'
import { at, count, uuid } from '../wire/body.js'
import { createdKey, keySchema, newKey } from './keys.js'

const newProject = fieldsOf(requestFields<Pick<Project, 'name'>>({ name: nameSetting })).meta({
  id: 'NewProject',
  examples: [{ name: 'web shop' }],
})

const limit = fieldsOf(requestFields<SendLimit>(sendLimitSettings), 'must be an object').optional()
const projectChange = fieldsOf({
  sendLimits: fieldsOf({ project: limit, key: limit }, 'must be an object or null')
    .nullable()
    .describe('Replaces the own limits. `null` removes them.'),
}).meta({
  id: 'ProjectChange',
  examples: [{ sendLimits: { project: { messagesPerMinute: 600, burst: 100 } } }],
})

const shownLimit = z
  .object({ messagesPerMinute: count, burst: count })
  .meta({ id: 'SendLimit', description: 'A token bucket. Its size is `burst`.' })

const sendLimitsSchema = z
  .object({
    project: shownLimit.optional().describe('All sends of the project together.'),
    key: shownLimit.optional().describe('The sends of each API key.'),
  })
  .meta({ id: 'SendLimits' })

export const projectSchema = z
  .object({
    id: uuid,
    name: z.string(),
    sendLimits: sendLimitsSchema
      .optional()
      .describe('The own limits of the project. Absent: the limits of the server.'),
    createdAt: at,
  })
  .meta({ id: 'Project' })

const shownProject = (project: Project) => withIso(project)

/** Projects, for the operator. The routes of other files belong to one project's keys. */
export const projectRoutes = (d: HttpDeps) => {
  const { projects } = d.service
  const route = routesOf(d, { tag: 'Projects', access: authorizeOperator(d) })
  const project = shown('The project', projectSchema, shownProject)
  return new Hono<Env>()
    .post(
      '/v1/projects',
      route(
        {
          operationId: 'createProject',
          summary: 'Create a project',
          body: newProject,
          answer: shown('The project', projectSchema, shownProject, 201),
        },
        (c, sent) => projects.create(byActor(c, sent)),
      ),
    )
    .get(
      '/v1/projects',
      route(
        {
          operationId: 'listProjects',
          summary: 'List the projects, oldest first',
          query: page,
          answer: shownPage(projectSchema, shownProject),
        },
        (_, asked) => projects.list(asked),
      ),
    )
    .get(
      '/v1/projects/:id',
      route(
        {
          operationId: 'getProject',
          summary: 'Read a project',
          refusals: ['project_not_found'],
          answer: project,
        },
        (c) => projects.get({ projectId: idIn(c.req.param('id')) }),
      ),
    )
    .patch(
      '/v1/projects/:id',
      route(
        {
          operationId: 'updateProject',
          summary: 'Change the limits of a project',
          body: projectChange,
          refusals: ['project_not_found'],
          answer: project,
        },
        (c, sent) => projects.update(byActor(c, { projectId: idIn(c.req.param('id')), ...sent })),
      ),
    )
}

export const projectKeyRoutes = (d: HttpDeps) => {
  const { projects, keys } = d.service
  const route = routesOf(d, { tag: 'Projects', access: authorizeOperator(d) })
  return new Hono<Env>()
    .post(
      '/v1/projects/:id/keys',
      route(
        {
          operationId: 'createProjectKey',
          summary: 'Create an API key of a project',
          body: newKey,
          refusals: ['key_taken', 'project_not_found', 'too_many_keys'],
          answer: createdKey,
        },
        (c, sent) => keys.create(byActor(c, { projectId: idIn(c.req.param('id')), ...sent })),
      ),
    )
    .get(
      '/v1/projects/:id/keys',
      route(
        {
          operationId: 'listProjectKeys',
          summary: 'List the API keys of a project, newest first',
          query: page,
          refusals: ['project_not_found'],
          answer: shownPage(keySchema, shownKey),
        },
        (c, asked) =>
          chain(projects.get({ projectId: idIn(c.req.param('id')) }), ({ id }) =>
            keys.list({ projectId: id, ...asked }),
          ),
      ),
    )
    .delete(
      '/v1/projects/:id/keys/:keyId',
      route(
        {
          operationId: 'revokeProjectKey',
          summary: 'Revoke an API key of a project',
          refusals: ['key_not_found'],
          answer: withoutBody('The key is revoked'),
        },
        (c) =>
          keys.revoke(
            byActor(c, { projectId: idIn(c.req.param('id')), keyId: idIn(c.req.param('keyId')) }),
          ),
      ),
    )
}
