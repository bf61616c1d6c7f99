import type { AuditEntry, Json } from '@org/agent-messaging-core'
import { given } from '@org/agent-messaging-core/runtime'
import { ACTOR_KINDS, AUDIT_ACTIONS, withIso } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorizeOperator } from '../authorize.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { routesOf, shownPage } from '../route.js'
import { id, oneOf, paging, query, storableText } from '../schemas.js'
import { at, uuid, named, namedEnum } from '../wire/body.js'
import { inProject } from '../path-id.js'

const auditActionSchema = namedEnum('AuditAction', AUDIT_ACTIONS)
const actorKindSchema = namedEnum('ActorKind', ACTOR_KINDS)

const anyValue = z.custom<Json>().meta({ shown: {} })
const auditEntrySchema = named('AuditEntry', {
  id: uuid,
  projectId: uuid.describe(
    'The nil UUID for a change of no project: of a platform key, or of an event type of the installation.',
  ),
  actor: named('Actor', {
    kind: actorKindSchema,
    id: z
      .string()
      .optional()
      .describe(
        'The id of the API key or platform key, also of one that signed in to the console. Of a `user`, the id that the host gave.',
      ),
    name: z.string().optional().describe('The name of the key, or the title of the portal link.'),
  }),
  action: auditActionSchema,
  targetId: z
    .string()
    .describe(
      'The id of the row that changed. For an erased session its agent, for an erased principal the project, for an event type and a downloaded list its name.',
    ),
  targetName: z
    .string()
    .optional()
    .describe('The name that the agent, webhook, key, portal link or project had.'),
  count: z
    .int()
    .min(0)
    .optional()
    .describe('The number of messages of an erased principal that the call found.'),
  fields: z.array(z.string()).optional().describe('The names of the fields that an update set.'),
  changes: z
    .record(z.string(), z.object({ from: anyValue.optional(), to: anyValue.optional() }))
    .optional()
    .describe(
      'By field, the old and the new value. Of a `url`, only the origin. Other fields have no values here.',
    ),
  createdAt: at,
})

const answer = shownPage(auditEntrySchema, (entry: AuditEntry) => withIso(entry))

const filters = {
  action: oneOf(AUDIT_ACTIONS)
    .meta({ shown: auditActionSchema })
    .optional()
    .describe('The kind of change.'),
  actor: oneOf(ACTOR_KINDS)
    .meta({ shown: actorKindSchema })
    .optional()
    .describe('The kind of the actor.'),
  targetId: storableText.optional().describe('The id of the row that changed.'),
}
const list = query({ ...filters, ...paging })
const listOfAll = query({
  projectId: id.optional().describe('Absent: all projects.'),
  ...filters,
  ...paging,
})

export const auditRoutes = (d: HttpDeps) => {
  const { auditLog } = d.service
  const tag = 'Audit log'
  const route = routesOf(d, { tag })
  const operatorRoute = routesOf(d, { tag, access: authorizeOperator(d) })
  return new Hono<Env>()
    .get(
      '/v1/audit-log',
      route(
        {
          operationId: 'listAuditLog',
          call: 'auditLog.list',
          summary: 'List the changes of the project with their actors, newest first',
          query: list,
          answer,
        },
        (c, asked) => auditLog.list(inProject(c, filterOf(asked))),
      ),
    )
    .get(
      '/v1/operator/audit-log',
      operatorRoute(
        {
          operationId: 'listAuditLogOfAllProjects',
          summary: 'List the changes of all projects with their actors, newest first',
          query: listOfAll,
          answer,
        },
        (_, asked) =>
          auditLog.list({ ...given({ projectId: asked.projectId }), ...filterOf(asked) }),
      ),
    )
}

const filterOf = ({ actor, ...asked }: z.output<typeof list>) =>
  given({ ...asked, actorKind: actor })
