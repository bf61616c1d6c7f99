import type { Recovery } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, count, uuid, type BodyOf } from './body.js'
import { deliveryStatusSchema, eventTypeSchema } from './delivery.js'

export const responseClasses = ['2xx', '3xx', '4xx', '5xx', 'none'] as const

export const responseClassSchema = z.enum(responseClasses).meta({ id: 'ResponseClass' })

export const recoverySchema = z
  .object({
    id: uuid,
    status: z.enum(['running', 'done', 'cancelled', 'failed']),
    failure: z.enum(['webhook_deleted']).optional().meta({
      description: 'Present if the status is `failed`.',
    }),
    filter: z
      .object({
        webhookId: uuid.optional(),
        event: eventTypeSchema.optional(),
        status: deliveryStatusSchema,
        lastAnswer: responseClassSchema.optional(),
        createdAfter: at.optional(),
        createdBefore: at,
      })
      .meta({ id: 'RecoveryFilter' }),
    matched: count.meta({ description: 'Deliveries that match the filter so far.' }),
    redelivered: count.meta({
      description: 'Matches that are due again. The others were due already or being sent.',
    }),
    createdAt: at,
    finishedAt: at.optional(),
  })
  .meta({ id: 'Recovery' })

export const recoveryBody = ({
  id,
  state,
  filter: { createdAfter, createdBefore, ...filter },
  matched,
  redelivered,
  createdAt,
}: Recovery): BodyOf<typeof recoverySchema> => ({
  id,
  status: state.kind,
  ...(state.kind === 'failed' && { failure: state.reason }),
  filter: {
    ...filter,
    ...(createdAfter !== undefined && { createdAfter: toIso(createdAfter) }),
    createdBefore: toIso(createdBefore),
  },
  matched,
  redelivered,
  createdAt: toIso(createdAt),
  ...(state.kind !== 'running' && { finishedAt: toIso(state.finishedAt) }),
})
