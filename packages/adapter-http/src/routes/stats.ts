import {
  ATTEMPT_CLASSES,
  COUNTED,
  FAILURE_REASONS,
  RESPONSE_TIMES_MS,
  STATS_STEPS,
  DAY_RULE,
  shownFailures,
  shownStats,
  shownUsage,
  withIso,
  type ProjectOverview,
  type StatsStep,
} from '@org/agent-messaging-core/host'
import { chain } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorizeOperator, authorizePlatform } from '../authorize.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { projectIn, inProject } from '../path-id.js'
import { routesOf, shown, shownPage } from '../route.js'
import { id, instant, oneOf, page, query } from '../schemas.js'
import { at, count, uuid, named } from '../wire/body.js'
import { projectSchema } from './projects.js'

const date = z.iso
  .date({ error: DAY_RULE })
  .transform((given) => Date.parse(given))
  .optional()
const days = query({
  from: date.describe('The first day (UTC). Default: 29 days before `to`.'),
  to: date.describe('The last day (UTC). Default: today.'),
})
const steps = query({
  from: instant
    .optional()
    .describe('In the first step. Default: 12 steps of 5 minutes, 24 hours or 30 days.'),
  to: instant.optional().describe('In the last step. Default: now.'),
  step: oneOf(Object.keys(STATS_STEPS) as StatsStep[])
    .optional()
    .describe(
      'The length of a step. Default: `1h`. Steps of `5m` are kept for 48 hours, of `1h` for 90 days, and of `1d` for ever.',
    ),
  by: oneOf(['agent', 'webhook'])
    .optional()
    .describe('Counts of each agent or webhook. Default: of the project.'),
  id: id.optional().describe('Only the agent or the webhook of `by` with this id.'),
})

const record = <K extends string>(names: readonly K[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, count])) as Record<K, typeof count>)

const counts = Object.fromEntries(
  Object.entries(COUNTED).map(([name, text]) => [name, count.describe(text)]),
) as Record<keyof typeof COUNTED, typeof count>
const allCounts = {
  ...counts,
  byClass: record(ATTEMPT_CLASSES).meta({
    id: 'AttemptClasses',
    description: 'Attempts by the class of the receiver’s status, or by the reason for no answer.',
  }),
  byTime: z
    .array(count)
    .length(RESPONSE_TIMES_MS.length + 1)
    .describe(
      `Answers by their response time: up to ${RESPONSE_TIMES_MS.join(', ')} ms, and longer.`,
    ),
  p50Ms: count
    .nullable()
    .describe('Half of the answers took up to so long. Null without answers, or if it was longer.'),
  p95Ms: count.nullable().describe('95 % of the answers took up to so long, or null.'),
}
const day = z.iso.date()
const people = count
  .nullable()
  .describe(
    'The end users of the messages of the day, of the project or the agent. Null: not counted yet. They are counted when the day (UTC) is over, if messages are kept for a day or more.',
  )
const peopleToday = z
  .object({
    count,
    isExact: z.boolean().describe('False: there are at least `count` people today.'),
  })
  .optional()
  .meta({
    id: 'PeopleToday',
    description:
      'The end users of the messages of today (UTC), read now, up to about 10,000. Only of the project or of one agent, if today is one of the days.',
  })

const sums = named('UsageCounts', counts)
const overviewSchema = projectSchema
  .extend({
    openMessages: count,
    openDeliveries: count,
    oldestDueAt: at
      .optional()
      .describe('Since when the oldest delivery that nothing holds is due.'),
    heldDeliveries: count,
    failingWebhooks: count.describe(
      'Webhooks that are disabled, also by an operator, or that back off.',
    ),
    usage: sums.describe('The counts of the last 30 days (UTC).'),
  })
  .meta({ id: 'ProjectOverview' })

const usageSchema = named('Usage', {
  from: day,
  to: day,
  total: sums,
  days: z
    .array(named('UsageOfDay', { date: day, ...counts, people }))
    .describe('The days with counts, oldest first.'),
  peopleToday,
})

const statsSchema = named('Stats', {
  from: at,
  to: at.describe('The start of the last step.'),
  stepMs: count,
  total: named('Counts', allCounts),
  totals: z
    .array(named('CountsOfOne', { id: z.string(), ...allCounts }))
    .optional()
    .describe('The sums of each agent or webhook of `by`.'),
  rows: z
    .array(
      named('StatsRow', {
        at,
        id: z.string().optional().describe('The agent or the webhook. Empty: hooks of messages.'),
        ...allCounts,
        people: people.optional(),
      }),
    )
    .describe('The steps with counts, oldest first.'),
  peopleToday,
})

const window = query({
  from: instant.optional().describe('Within the last 48 hours. Default: 24 hours ago.'),
})

const failuresSchema = named('Failures', {
  from: at.describe('The start of the first step of the counts.'),
  recentFrom: at,
  failures: z
    .array(
      named('Failure', {
        subject: z.enum(['agent', 'webhook']),
        id: uuid,
        name: z.string().describe('Of a webhook without a description, the URL.'),
        isFailing: z.boolean().describe('False: only successes have followed.'),
        since: at.optional().describe('Absent if an agent did not start, and failed no message.'),
        countedFrom: at.describe('The counts are of this time and later.'),
        failed: count.describe('Failed messages of an agent, or refused attempts of a webhook.'),
        ended: count.describe('`failed`, and answered messages or accepted attempts.'),
        recent: count.describe('The failures since `recentFrom`.'),
        reasons: z
          .array(z.object({ reason: z.enum(FAILURE_REASONS), count }))
          .describe('The failures by error or by status class, the most frequent first.'),
        last: z
          .object({
            reason: z.string().describe('The error, or the status of the receiver.'),
            text: z.string().describe('The first 200 characters of the error or the answer.'),
            id: uuid.optional().describe('The message or the delivery.'),
            failedAt: at.optional(),
          })
          .optional()
          .describe('The newest failure.'),
      }),
    )
    .describe('Up to 100. Those that fail now come first.'),
})

/** The counts of a project, for its administrators and for the operator. */
export const statsRoutes = (d: HttpDeps) => {
  const { stats, failures, projects } = d.service
  const route = routesOf(d, { tag: 'Usage' })
  const platformRoute = routesOf(d, { tag: 'Projects', access: authorizePlatform(d, 'stats') })
  const operatorRoute = routesOf(d, { tag: 'Projects', access: authorizeOperator(d) })
  const answer = shown('The counts', usageSchema, shownUsage)
  return new Hono<Env>()
    .get(
      '/v1/usage',
      route(
        {
          operationId: 'getUsage',
          call: 'stats',
          summary: 'Read the usage of the project by day',
          query: days,
          answer,
        },
        (c, asked) => stats(inProject(c, { step: '1d', ...asked })),
      ),
    )
    .get(
      '/v1/stats',
      route(
        {
          operationId: 'getStats',
          call: 'stats',
          summary: 'Read the counts of the project, its agents or its webhooks by step of time',
          query: steps,
          answer: shown('The counts', statsSchema, shownStats),
        },
        (c, { step = '1h', ...asked }) => stats(inProject(c, { step, ...asked })),
      ),
    )
    .get(
      '/v1/failures',
      route(
        {
          operationId: 'getFailures',
          call: 'failures',
          summary: 'Read which agents and webhooks fail, since when, how often and why',
          query: window,
          answer: shown('The failures', failuresSchema, shownFailures),
        },
        (c, asked) => failures(inProject(c, asked)),
      ),
    )
    .get(
      '/v1/operator/projects',
      operatorRoute(
        {
          operationId: 'listProjectOverviews',
          summary: 'Read what waits, fails and was used in each project, the failing ones first',
          query: page,
          answer: shownPage(overviewSchema, (row: ProjectOverview) => withIso(row)),
        },
        (_, asked) => projects.overview(asked),
      ),
    )
    .get(
      '/v1/projects/:id/usage',
      platformRoute(
        {
          operationId: 'getProjectUsage',
          summary: 'Read the usage of a project by day',
          query: days,
          refusals: ['project_not_found'],
          answer,
        },
        (c, asked) =>
          chain(projects.get({ projectId: projectIn(c) }), (project) =>
            stats({ projectId: project.id, step: '1d', ...asked }),
          ),
      ),
    )
}
