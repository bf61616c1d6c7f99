import type { ProjectUsage } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorize, authorizeOperator } from '../authorize.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { routesOf, shown } from '../route.js'
import { query } from '../schemas.js'
import { count, type BodyOf } from '../wire/body.js'

const date = z.iso
  .date({ error: 'must be a date such as 2030-01-31' })
  .transform((given) => Date.parse(given))
  .optional()
const range = query({
  from: date.describe('The first day (UTC). Default: 29 days before `to`.'),
  to: date.describe('The last day (UTC). Default: today.'),
})

const counts = {
  messages: count.describe('Accepted messages.'),
  runs: count.describe('Runs whose outcome was stored.'),
  deliveries: count.describe('Deliveries that were delivered or exhausted.'),
  attempts: count.describe('Requests to webhooks.'),
  bytesIn: count.describe('Messages with their metadata, in UTF-8.'),
  bytesOut: count.describe('Answers, and the bodies of attempts, in UTF-8.'),
  inputTokens: count.describe('Tokens that runtimes report.'),
  outputTokens: count.describe('Tokens that runtimes report.'),
}
const day = z.iso.date()

const usageSchema = z
  .object({
    from: day,
    to: day,
    isCounted: z.boolean().describe('False: the server does not count at this time.'),
    total: z.object(counts).meta({ id: 'UsageCounts' }),
    days: z
      .array(z.object({ date: day, ...counts }).meta({ id: 'UsageOfDay' }))
      .describe('The days with counts, oldest first.'),
  })
  .meta({ id: 'Usage' })

const usageBody = ({
  from,
  to,
  isCounted,
  total,
  days,
}: ProjectUsage): BodyOf<typeof usageSchema> => ({
  from: dateOf(from),
  to: dateOf(to),
  isCounted,
  total,
  days: days.map((one) => ({ date: dateOf(one.day), ...one.counts })),
})

const dateOf = (at: number): string => toIso(at).slice(0, 10)

/** The usage of a project, for its administrators and for the operator. */
export const usageRoutes = (d: HttpDeps) => {
  const { usage, projects } = d.service
  const access = authorize(d, 'project:admin')
  const route = routesOf(d, { tag: 'Usage', access })
  const operatorRoute = routesOf(d, { tag: 'Projects', access: authorizeOperator(d) })
  const answer = shown('The counts', usageSchema, usageBody)
  return new Hono<Env>()
    .get(
      '/v1/usage',
      route(
        {
          operationId: 'getUsage',
          summary: 'Read the usage of the project by day',
          query: range,
          answer,
        },
        (c, asked) => usage.read({ projectId: c.get('projectId'), ...asked }),
      ),
    )
    .get(
      '/v1/projects/:id/usage',
      operatorRoute(
        {
          operationId: 'getProjectUsage',
          summary: 'Read the usage of a project by day',
          query: range,
          refusals: ['project_not_found'],
          answer,
        },
        (c, asked) =>
          projects
            .get(idIn(c.req.param('id')))
            .andThen(({ id }) => usage.read({ projectId: id, ...asked })),
      ),
    )
}
