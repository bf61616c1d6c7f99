import { given } from '@org/agent-messaging-core/runtime'
import { Hono, type Context } from 'hono'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn, byActor } from '../path-id.js'
import { readJsonIfSent } from '../read-json.js'
import { fieldsOf, id, nullAsAbsent, oneOf, pageOf, paging, query } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { pageBody, pageSchema } from '../wire/page.js'
import {
  recoveryBody,
  recoverySchema,
  responseClasses,
  responseClassSchema,
} from '../wire/recovery.js'
import { deliveryFilter } from './deliveries.js'

const fields = {
  webhookId: id.optional().meta({ description: 'Absent: the deliveries of all webhooks.' }),
  ...deliveryFilter,
  lastAnswer: oneOf(responseClasses).meta({ shown: responseClassSchema }).optional().meta({
    description: 'The status class of the last answer. `none`: the receiver was not reached.',
  }),
}
const newRecovery = fieldsOf(nullAsAbsent(fields)).meta({
  id: 'NewRecovery',
  examples: [{ status: 'exhausted', createdAfter: '2026-11-01T00:00:00Z' }],
})
const list = query(paging)

export const recoveryRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:webhooks')
  return new Hono<Env>()
    .post(
      '/v1/recoveries',
      about.start,
      mayManage,
      readJsonIfSent(maxBodyBytes),
      validBody(newRecovery),
      (c) => {
        const filter = given(c.req.valid('json'))
        const started = service.recoveries.start(
          byActor(c, { projectId: c.get('projectId'), filter }),
        )
        return answer(c, 202, started, recoveryBody)
      },
    )

    .get('/v1/recoveries', about.list, mayManage, validQuery(list), (c) => {
      const page = pageOf(c.req.valid('query'))
      return answer(
        c,
        200,
        service.recoveries.list(c.get('projectId'), page),
        pageBody(recoveryBody),
      )
    })

    .get('/v1/recoveries/:id', about.get, mayManage, (c) =>
      answer(c, 200, service.recoveries.get(refOf(c)), recoveryBody),
    )

    .post('/v1/recoveries/:id/cancel', about.cancel, mayManage, (c) =>
      answer(c, 200, service.recoveries.cancel(byActor(c, refOf(c))), recoveryBody),
    )
}

const refOf = (c: Context<Env>) => ({
  projectId: c.get('projectId'),
  recoveryId: idIn(c.req.param('id')),
})

const tag = 'Recoveries'

const about = {
  start: describeRoute<Service['recoveries']['start']>({
    tag,
    operationId: 'startRecovery',
    summary: 'Send all deliveries that match a filter again',
    description:
      'Starts a task of the server and answers at once. The task covers the deliveries that exist ' +
      'now: exhausted ones unless `status` says otherwise, of all webhooks unless `webhookId` ' +
      'names one.',
    refusals: { webhook_not_found: true, too_many_recoveries: true },
    answers: { 202: { description: 'The recovery', body: recoverySchema } },
  }),
  list: describeRoute<Service['recoveries']['list']>({
    tag,
    operationId: 'listRecoveries',
    summary: 'List recoveries, newest first',
    answers: { 200: { description: 'One page', body: pageSchema(recoverySchema) } },
  }),
  get: describeRoute<Service['recoveries']['get']>({
    tag,
    operationId: 'getRecovery',
    summary: 'Read the progress of a recovery',
    refusals: { recovery_not_found: true },
    answers: { 200: { description: 'The recovery', body: recoverySchema } },
  }),
  cancel: describeRoute<Service['recoveries']['cancel']>({
    tag,
    operationId: 'cancelRecovery',
    summary: 'Cancel a running recovery',
    description: 'Deliveries that are due again stay due.',
    refusals: { recovery_not_found: true, recovery_final: true },
    answers: { 200: { description: 'The recovery', body: recoverySchema } },
  }),
}
