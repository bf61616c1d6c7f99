import { UNREACHABLE_ERRORS, type Outcome } from '@org/agent-messaging-core/runtime'
import { DELIVERY_STATUSES, recoverySettings } from '@org/agent-messaging-core/host'
import type { CancelReason } from '@org/agent-messaging-core/storage'
import { z } from 'zod'
import { at, count, uuid, named, namedEnum } from './body.js'

const cancelReasons = [
  'webhook_deleted',
  'webhook_disabled',
  'operator',
  'skipped',
] as const satisfies readonly CancelReason[]
const outcomes = [
  'accepted',
  'refused',
  'unreachable',
] as const satisfies readonly Outcome['kind'][]
export const eventTypeSchema = z.string().meta({
  id: 'EventType',
  description: 'The name of an event of the service, or the type of a published one.',
  examples: ['message.responded', 'order.paid'],
})
const deliveryStatusSchema = namedEnum('DeliveryStatus', DELIVERY_STATUSES)
export const statusFilterSchema = namedEnum('DeliveryStatusFilter', recoverySettings.status.enum)
export const unreachableErrorSchema = namedEnum('UnreachableError', UNREACHABLE_ERRORS)

export const deliverySchema = named('Delivery', {
  id: uuid.describe('The same for all attempts. Receivers deduplicate by it.'),
  webhookId: uuid,
  eventId: z.string().describe('A UUID, or the `id` of a published event.'),
  event: eventTypeSchema,
  status: deliveryStatusSchema,
  attemptCount: count,
  nextAttemptAt: at
    .optional()
    .describe('Present while the delivery is `pending`, is not being sent and is not blocked.'),
  blockedBy: uuid
    .optional()
    .describe(
      'The delivery that comes first in the order of its session. Present while this one waits.',
    ),
  deliveredAt: at.optional(),
  exhaustedAt: at.optional(),
  cancelledAt: at.optional(),
  cancelledReason: z.enum(cancelReasons).optional(),
  createdAt: at,
})

export const attemptSchema = named('DeliveryAttempt', {
  attemptNumber: count.describe('Starts at 1.'),
  startedAt: at,
  durationMs: count,
  url: z
    .string()
    .optional()
    .describe('The URL of the request, without userinfo and query. Absent if nothing was sent.'),
  requestHeaders: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'The headers of the request, without the values of custom headers. Absent if nothing ' +
        'was sent, or if the error is `interrupted`.',
    ),
  outcome: z.enum(outcomes).describe('`accepted` means a 2xx status.'),
  statusCode: z.int().optional(),
  responseBody: z.string().optional().describe('The first 16 KiB of the answer’s body.'),
  error: unreachableErrorSchema
    .optional()
    .describe('Present with `detail` if the outcome is `unreachable`.'),
  detail: z.string().optional(),
})

/** The last failure of a webhook. */
export const lastFailureSchema = attemptSchema
  .pick({ attemptNumber: true, startedAt: true, outcome: true, statusCode: true })
  .extend({
    deliveryId: uuid,
    responseBody: z.string().optional().describe('The first 200 characters of the answer’s body.'),
    ...attemptSchema.pick({ error: true, detail: true }).shape,
  })
  .meta({ id: 'LastFailure' })

export const deliveryDetailSchema = deliverySchema
  .extend({
    body: z.string().describe('The body of every attempt, exactly as signed.'),
    attempts: z.array(attemptSchema),
  })
  .meta({ id: 'DeliveryDetail' })
