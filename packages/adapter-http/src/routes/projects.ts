import type { PlatformKey, Project } from '@org/agent-messaging-core'
import {
  eventLimitSettings,
  PLATFORM_PERMISSIONS,
  platformKeySettings,
  projectSettings,
  sendLimitSettings,
  shownKey,
  withIso,
  type CallName,
  type CreatedPlatformKey,
  type PlatformKeySettings,
  type ProjectSettings,
  type EventLimit,
  type SendLimit,
} from '@org/agent-messaging-core/host'
import { chain, reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorizeOperator, authorizePlatform } from '../authorize.js'
import { listField, requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, idIn, projectIn } from '../path-id.js'
import { ownAnswers, routesOf, shown, shownPage, withoutBody } from '../route.js'
import { fieldsOf, nullAsAbsent, page, namedFields, creationOf } from '../schemas.js'
import { at, count, uuid, named, namedEnum } from '../wire/body.js'
import { createdKey, keySchema, newKey } from './keys.js'

const newProject = creationOf('NewProject', requestFields<ProjectSettings>(projectSettings), {
  examples: [{ name: 'web shop', externalId: 'customer-42' }],
})

const limit = fieldsOf(requestFields<SendLimit>(sendLimitSettings), 'must be an object').optional()
const eventLimit = fieldsOf(
  requestFields<EventLimit>(eventLimitSettings),
  'must be an object',
).optional()
const projectChange = namedFields(
  'ProjectChange',
  {
    sendLimits: fieldsOf(
      { project: limit, key: limit, events: eventLimit },
      'must be an object or null',
    )
      .nullable()
      .describe('Replaces the own limits. `null` removes them.'),
  },
  { examples: [{ sendLimits: { project: { messagesPerMinute: 600, burst: 100 } } }] },
)

const shownLimit = named(
  'SendLimit',
  { messagesPerMinute: count, burst: count },
  { description: 'A token bucket. Its size is `burst`.' },
)

const sendLimitsSchema = named('SendLimits', {
  project: shownLimit.optional().describe('All sends of the project together.'),
  key: shownLimit.optional().describe('The sends of each API key.'),
  events: z
    .object({ eventsPerMinute: count, burst: count })
    .optional()
    .describe('The published events of the project.'),
})

export const projectSchema = named('Project', {
  id: uuid,
  name: z.string(),
  externalId: z.string().optional(),
  sendLimits: sendLimitsSchema
    .optional()
    .describe('The own limits of the project. Absent: the limits of the server.'),
  createdAt: at,
})

const shownProject = (project: Project) => withIso(project)

/** Projects, for the operator and for platforms. */
export const projectRoutes = (d: HttpDeps) => {
  const { projects } = d.service
  const routeOf = (call: CallName) =>
    routesOf(d, { tag: 'Projects', access: authorizePlatform(d, call) })
  const project = shown('The project', projectSchema, shownProject)
  return new Hono<Env>()
    .post(
      '/v1/projects',
      routeOf('projects.create')(
        {
          operationId: 'createProject',
          summary: 'Create a project, or find the one with the external id',
          body: newProject,
          answer: ownAnswers({
            201: { description: 'The new project', body: projectSchema },
            200: {
              description: 'The project that has the external id already, unchanged',
              body: projectSchema,
              headers: ['Idempotent-Replayed'],
            },
          }),
        },
        (c, sent) =>
          chain(projects.create(byActor(c, sent)), ({ isReplay, ...created }) =>
            isReplay
              ? reply(c, 200, shownProject(created), { 'Idempotent-Replayed': 'true' })
              : reply(c, 201, shownProject(created)),
          ),
      ),
    )
    .get(
      '/v1/projects',
      routeOf('projects.list')(
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
      routeOf('projects.get')(
        {
          operationId: 'getProject',
          summary: 'Read a project',
          refusals: ['project_not_found'],
          answer: project,
        },
        (c) => projects.get({ projectId: projectIn(c) }),
      ),
    )
    .patch(
      '/v1/projects/:id',
      routeOf('projects.update')(
        {
          operationId: 'updateProject',
          summary: 'Change the limits of a project',
          body: projectChange,
          refusals: ['project_not_found'],
          answer: project,
        },
        (c, sent) =>
          chain(projects.get({ projectId: projectIn(c) }), ({ id }) =>
            projects.update(byActor(c, { projectId: id, ...sent })),
          ),
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
        (c, sent) =>
          chain(projects.get({ projectId: projectIn(c) }), ({ id }) =>
            keys.create(byActor(c, { projectId: id, ...sent })),
          ),
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
          chain(projects.get({ projectId: projectIn(c) }), ({ id }) =>
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
          refusals: ['key_not_found', 'project_not_found'],
          answer: withoutBody('The key is revoked'),
        },
        (c) =>
          chain(projects.get({ projectId: projectIn(c) }), ({ id }) =>
            keys.revoke(byActor(c, { projectId: id, keyId: idIn(c.req.param('keyId')) })),
          ),
      ),
    )
}

const platformPermission = namedEnum('PlatformPermission', PLATFORM_PERMISSIONS)
const newPlatformKey = namedFields(
  'NewPlatformKey',
  {
    ...nullAsAbsent(requestFields<PlatformKeySettings>(platformKeySettings)),
    permissions: listField(platformKeySettings.permissions, platformPermission),
  },
  { examples: [{ name: 'our product', permissions: ['platform:projects', 'project:portals'] }] },
)

const platformKeySchema = named('PlatformKey', {
  id: uuid,
  name: z.string(),
  permissions: z.array(platformPermission),
  createdAt: at,
  expiresAt: at.optional(),
  revokedAt: at.optional(),
})
const createdPlatformKeySchema = platformKeySchema
  .extend({ key: z.string().describe('The key. Shown only in this answer.') })
  .meta({ id: 'CreatedPlatformKey' })

const shownPlatformKey = (key: PlatformKey) => withIso(key)

/** Keys that act on all projects, for the operator. */
export const platformKeyRoutes = (d: HttpDeps) => {
  const { platformKeys } = d.service
  const route = routesOf(d, { tag: 'Projects', access: authorizeOperator(d) })
  return new Hono<Env>()
    .post(
      '/v1/platform-keys',
      route(
        {
          operationId: 'createPlatformKey',
          summary: 'Create a platform key, which acts on all projects',
          body: newPlatformKey,
          refusals: ['key_taken', 'project_not_found', 'too_many_keys'],
          answer: shown(
            'The key, shown only here',
            createdPlatformKeySchema,
            ({ platformKey, key }: CreatedPlatformKey) => ({ ...withIso(platformKey), key }),
            201,
          ),
        },
        (c, sent) => platformKeys.create(byActor(c, sent)),
      ),
    )
    .get(
      '/v1/platform-keys',
      route(
        {
          operationId: 'listPlatformKeys',
          summary: 'List the platform keys, newest first',
          query: page,
          answer: shownPage(platformKeySchema, shownPlatformKey),
        },
        (_, asked) => platformKeys.list(asked),
      ),
    )
    .delete(
      '/v1/platform-keys/:id',
      route(
        {
          operationId: 'revokePlatformKey',
          summary: 'Revoke a platform key',
          refusals: ['key_not_found'],
          answer: withoutBody('The key is revoked'),
        },
        (c) => platformKeys.revoke(byActor(c, { keyId: idIn(c.req.param('id')) })),
      ),
    )
}
