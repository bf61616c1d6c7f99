import { Hono } from 'hono'
import { z } from 'zod'
import { authorize } from '../authorize.js'
import { authorizeOperator } from '../authorize-operator.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { answer } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { query } from '../schemas.js'
import { validQuery } from '../validate.js'
import { usageBody, usageSchema } from '../wire/usage.js'

const date = z.iso
  .date({ error: 'must be a date such as 2030-01-31' })
  .transform((given) => Date.parse(given))
  .optional()
const range = query({
  from: date.meta({ description: 'The first day (UTC). Default: 29 days before `to`.' }),
  to: date.meta({ description: 'The last day (UTC). Default: today.' }),
})

/** The usage of a project, for its administrators and for the operator. */
export const usageRoutes = (d: HttpDeps) => {
  const { service } = d
  return new Hono<Env>()
    .get('/v1/usage', about.own, authorize(service, 'project:admin'), validQuery(range), (c) => {
      const asked = { projectId: c.get('projectId'), ...c.req.valid('query') }
      return answer(c, 200, service.usage.read(asked), usageBody)
    })

    .get(
      '/v1/projects/:id/usage',
      about.ofProject,
      authorizeOperator(d),
      validQuery(range),
      (c) => {
        const asked = c.req.valid('query')
        const usage = service.projects
          .get(idIn(c.req.param('id')))
          .andThen(({ id }) => service.usage.read({ projectId: id, ...asked }))
        return answer(c, 200, usage, usageBody)
      },
    )
}

const answers = { 200: { description: 'The counts', body: usageSchema } }

const about = {
  own: describeRoute<Service['usage']['read']>({
    tag: 'Usage',
    operationId: 'getUsage',
    summary: 'Read the usage of the project by day',
    answers,
  }),
  ofProject: describeRoute<Service['projects']['get']>({
    tag: 'Projects',
    operationId: 'getProjectUsage',
    summary: 'Read the usage of a project by day',
    refusals: { project_not_found: true },
    answers,
  }),
}
