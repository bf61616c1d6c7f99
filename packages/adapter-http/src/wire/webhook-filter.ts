import type { MetadataCondition } from '@org/agent-messaging-core'
import { z } from 'zod'
import { uuid } from './body.js'

const path = z
  .string()
  .min(1)
  .max(200)
  .meta({
    description: 'Nested keys of the metadata, with dots between them. At most 10 keys.',
    examples: ['customer.plan'],
  })
const conditionSchema = z.union([
  z.strictObject({
    path,
    equals: z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()]),
  }),
  z.strictObject({
    path,
    exists: z.boolean().meta({ description: '`false`: the metadata must not have the path.' }),
  }),
]) satisfies z.ZodType<MetadataCondition>

/** An event must match every given field. */
export const webhookFilterSchema = z
  .strictObject({
    agentId: uuid.optional().meta({ description: 'Only events of this agent.' }),
    sessionIdPrefix: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: 'Only events of sessions whose id starts with this text.' }),
    metadata: z
      .array(conditionSchema)
      .min(1)
      .max(10)
      .readonly()
      .optional()
      .meta({ description: 'Conditions on the metadata of the message. All must hold.' }),
  })
  .meta({
    id: 'WebhookFilter',
    examples: [
      { sessionIdPrefix: 'support/', metadata: [{ path: 'customer.plan', equals: 'gold' }] },
    ],
  })
