import { given } from '@org/agent-messaging-core/runtime'
import {
  RECOVERY_FAILURES,
  recoverySettings,
  replaySettings,
  retrySettings,
  shownRecovery,
  type ReplaySettings,
  type RetrySettings,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import { listField, requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentRef, byActor, refIn, inProject } from '../path-id.js'
import { routesOf, shown, shownPage } from '../route.js'
import { fieldsOf, nullAsAbsent, page, creationOf } from '../schemas.js'
import { at, count, uuid, named, namedEnum } from '../wire/body.js'
import { attemptSchema, eventTypeSchema, statusFilterSchema } from '../wire/delivery.js'
import { recoveryFilter } from './deliveries.js'

const responseClassSchema = namedEnum('ResponseClass', recoverySettings.lastAnswer.enum)

const replayFields = requestFields<ReplaySettings>(replaySettings)
const newReplay = fieldsOf(
  nullAsAbsent({
    ...replayFields,
    webhookIds: listField(replaySettings.webhookIds, uuid),
    types: listField(replaySettings.types, z.string()).optional(),
  }),
  'must be an object',
).meta({ id: 'NewReplay' })

const newRecovery = creationOf(
  'NewRecovery',
  {
    ...recoveryFilter,
    lastAnswer: recoveryFilter.lastAnswer.meta({ shown: responseClassSchema }),
    tryFirst: z
      .boolean()
      .optional()
      .describe('Sends one delivery first, and pauses if it is not accepted.')
      .meta({ default: false }),
    events: newReplay
      .optional()
      .describe('Sends events of the log as new deliveries instead. No other field can be given.'),
  },
  { examples: [{ status: 'exhausted', createdAfter: '2026-11-01T00:00:00Z' }] },
)

const retryFields = requestFields<RetrySettings>(retrySettings)
const errorCode = z.enum(retrySettings.errorCode.enum)
const newRetry = creationOf(
  'NewRetry',
  { ...retryFields, errorCode: retryFields.errorCode.meta({ shown: errorCode }) },
  { examples: [{ createdAfter: '2026-11-01T00:00:00Z' }] },
)

const recoverySchema = named('Recovery', {
  id: uuid,
  status: z
    .enum(['running', 'trying', 'paused', 'sending', 'done', 'cancelled', 'failed'])
    .describe(
      '`running` looks for matches. `sending` waits until each delivery is accepted or has failed. ' +
        '`trying` sends one delivery first. `paused`: it was not accepted; continue or cancel.',
    ),
  failure: z.enum(RECOVERY_FAILURES).optional().describe('Present if the status is `failed`.'),
  filter: named('RecoveryFilter', {
    webhookId: uuid.optional(),
    event: eventTypeSchema.optional(),
    status: statusFilterSchema,
    lastAnswer: responseClassSchema.optional(),
    agentId: uuid.optional().describe('Of a retry of failed messages.'),
    errorCode: errorCode.optional(),
    webhookIds: z.array(uuid).optional().describe('Of events of the log, sent again.'),
    types: z.array(z.string()).optional(),
    createdAfter: at.optional(),
    createdBefore: at,
  }),
  matched: count.describe('Deliveries that match the filter so far.'),
  redelivered: count.describe(
    'Matches that were made due again. The others were due already or being sent. The sum of the ' +
      'next five.',
  ),
  waiting: count.describe('Not attempted since.'),
  failing: count.describe('Attempted since, and not accepted yet.'),
  delivered: count,
  exhausted: count,
  cancelled: count.describe('Cancelled, erased, or made due again by a newer recovery.'),
  tried: attemptSchema
    .optional()
    .describe('The attempt that paused the recovery. Only when you read one recovery.'),
  createdAt: at,
  finishedAt: at.optional(),
})

const recovery = shown('The recovery', recoverySchema, shownRecovery)
const started = shown('The recovery', recoverySchema, shownRecovery, 202)

export const recoveryRoutes = (d: HttpDeps) => {
  const { recoveries } = d.service
  const route = routesOf(d, { tag: 'Recoveries' })
  return new Hono<Env>()
    .post(
      '/v1/recoveries',
      route(
        {
          operationId: 'startRecovery',
          call: 'recoveries.start',
          summary: 'Send all deliveries that match a filter again',
          description:
            'Starts a task of the server and answers at once. The task covers the deliveries that exist ' +
            'now: exhausted ones unless `status` says otherwise, of all webhooks unless `webhookId` ' +
            'names one. With `events`, the task makes new deliveries of stored events for the chosen ' +
            'webhooks.',
          body: newRecovery,
          isBodyOptional: true,
          refusals: ['webhook_not_found', 'too_many_recoveries'],
          answer: started,
        },
        (c, { tryFirst, events, ...filter }) =>
          recoveries.start(
            byActor(c, {
              projectId: c.get('projectId'),
              filter: given(filter),
              ...given({ tryFirst, events }),
            }),
          ),
      ),
    )
    .get(
      '/v1/recoveries',
      route(
        {
          operationId: 'listRecoveries',
          call: 'recoveries.list',
          summary: 'List recoveries, newest first',
          query: page,
          answer: shownPage(recoverySchema, shownRecovery),
        },
        (c, asked) => recoveries.list(inProject(c, asked)),
      ),
    )
    .get(
      '/v1/recoveries/:id',
      route(
        {
          operationId: 'getRecovery',
          call: 'recoveries.get',
          summary: 'Read the progress of a recovery',
          refusals: ['recovery_not_found'],
          answer: recovery,
        },
        (c) => recoveries.get(refIn(c, 'recoveryId')),
      ),
    )
}

/** Retries of failed messages are recoveries too. */
export const retryRoutes = (d: HttpDeps) => {
  const { messages } = d.service
  const route = routesOf(d, { tag: 'Messages' })
  return new Hono<Env>().post(
    '/v1/agents/:id/retry-failed',
    route(
      {
        operationId: 'retryFailedMessages',
        call: 'messages.retryFailed',
        summary: 'Retry all failed messages of an agent that match a filter',
        description:
          'Starts a task of the server and answers at once. It retries the oldest messages first, each ' +
          'once. It waits while the agent does not run, and for room in full sessions.',
        body: newRetry,
        isBodyOptional: true,
        refusals: ['agent_not_found', 'too_many_recoveries'],
        answer: started,
      },
      (c, filter) => messages.retryFailed(byActor(c, { ...agentRef(c), ...given(filter) })),
    ),
  )
}

export const recoveryDecisionRoutes = (d: HttpDeps) => {
  const { recoveries } = d.service
  const route = routesOf(d, { tag: 'Recoveries' })
  return new Hono<Env>()
    .post(
      '/v1/recoveries/:id/cancel',
      route(
        {
          operationId: 'cancelRecovery',
          call: 'recoveries.cancel',
          summary: 'Cancel a running or paused recovery',
          description: 'Ends the search. Deliveries that are due again stay due.',
          refusals: ['recovery_not_found', 'recovery_final'],
          answer: recovery,
        },
        (c) => recoveries.cancel(byActor(c, refIn(c, 'recoveryId'))),
      ),
    )
    .post(
      '/v1/recoveries/:id/continue',
      route(
        {
          operationId: 'continueRecovery',
          call: 'recoveries.continue',
          summary: 'Continue a paused recovery',
          description: 'Sends the other matches, although the first delivery was not accepted.',
          refusals: ['recovery_not_found', 'recovery_not_paused'],
          answer: recovery,
        },
        (c) => recoveries.continue(byActor(c, refIn(c, 'recoveryId'))),
      ),
    )
}
