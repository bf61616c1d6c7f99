import { ACTOR_KINDS, AUDIT_ACTIONS } from '@org/agent-messaging-core'
import { given } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import type { z } from 'zod'
import { authorize } from '../authorize.js'
import { authorizeOperator } from '../authorize-operator.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { id, oneOf, pageOf, paging, query, storableText } from '../schemas.js'
import { validQuery } from '../validate.js'
import { actorKindSchema, auditActionSchema, auditBody, auditEntrySchema } from '../wire/audit.js'
import { pageBody, pageSchema } from '../wire/page.js'

const filters = {
  action: oneOf(AUDIT_ACTIONS)
    .meta({ shown: auditActionSchema })
    .optional()
    .meta({ description: 'The kind of change.' }),
  actor: oneOf(ACTOR_KINDS)
    .meta({ shown: actorKindSchema })
    .optional()
    .meta({ description: 'The kind of the actor.' }),
  targetId: storableText.optional().meta({ description: 'The id of the row that changed.' }),
}
const list = query({ ...filters, ...paging })
const listOfAll = query({
  projectId: id.optional().meta({ description: 'Absent: all projects.' }),
  ...filters,
  ...paging,
})

export const auditRoutes = (d: HttpDeps) => {
  const { service } = d
  return new Hono<Env>()
    .get(
      '/v1/audit-log',
      about.list,
      authorize(service, 'project:audit'),
      validQuery(list),
      (c) => {
        const asked = c.req.valid('query')
        const filter = { projectId: c.get('projectId'), ...filterOf(asked) }
        return answer(c, 200, service.auditLog.list(filter, pageOf(asked)), pageBody(auditBody))
      },
    )

    .get('/v1/operator/audit-log', about.all, authorizeOperator(d), validQuery(listOfAll), (c) => {
      const asked = c.req.valid('query')
      const filter = { ...given({ projectId: asked.projectId }), ...filterOf(asked) }
      return answer(c, 200, service.auditLog.list(filter, pageOf(asked)), pageBody(auditBody))
    })
}

const filterOf = ({ action, actor, targetId }: z.output<typeof list>) =>
  given({ action, actorKind: actor, targetId })

const tag = 'Audit log'
const page = { description: 'One page', body: pageSchema(auditEntrySchema) }

const about = {
  list: describeRoute<Service['auditLog']['list']>({
    tag,
    operationId: 'listAuditLog',
    summary: 'List the changes of the project with their actors, newest first',
    answers: { 200: page },
  }),
  all: describeRoute<Service['auditLog']['list']>({
    tag,
    operationId: 'listAuditLogOfAllProjects',
    summary: 'List the changes of all projects with their actors, newest first',
    answers: { 200: page },
  }),
}
