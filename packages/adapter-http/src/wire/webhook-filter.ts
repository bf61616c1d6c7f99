import { filterLimits } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { textOf } from '../schemas.js'
import { uuid } from './body.js'

const path = z.string().meta({
  minLength: 1,
  maxLength: filterLimits.pathLength,
  pattern: '^[^.\\x00]+(\\.[^.\\x00]+){0,9}$',
  description: 'Nested keys of the metadata, with dots between them. At most 10 keys.',
  examples: ['customer.plan'],
})
const scalar = z.union([
  z.string().max(filterLimits.equalsLength),
  z.number(),
  z.boolean(),
  z.null(),
])
const exists = z.boolean().describe('`false`: the metadata must not have the path.')
const agentId = uuid.optional().describe('Only events of this agent.')
const sessionIdPrefix = z
  .string()
  .optional()
  .meta({
    ...textOf(filterLimits.sessionIdPrefixLength),
    description: 'Only events of sessions whose id starts with this text.',
  })
const about = 'Conditions on the metadata of the message. All must hold.'

const metadataConditionSchema = z
  .object({ path: z.string(), equals: scalar.optional(), exists: exists.optional() })
  .meta({ id: 'MetadataCondition', description: 'Has either `equals` or `exists`.' })

/** An event must match every given field. */
export const webhookFilterSchema = z
  .object({
    agentId,
    sessionIdPrefix,
    metadata: z.array(metadataConditionSchema).readonly().optional().meta({ description: about }),
  })
  .meta({ id: 'WebhookFilter' })

const newConditionSchema = z.xor([
  z.strictObject({ path, equals: scalar }).meta({ id: 'EqualsCondition' }),
  z.strictObject({ path, exists }).meta({ id: 'ExistsCondition' }),
])

/** The filter of a request. */
export const newWebhookFilterSchema = z
  .strictObject({
    agentId: agentId.nullable(),
    sessionIdPrefix: sessionIdPrefix.nullable(),
    metadata: z
      .array(newConditionSchema)
      .min(1)
      .max(filterLimits.conditions)
      .nullish()
      .meta({ description: about }),
  })
  .meta({
    id: 'NewWebhookFilter',
    description: 'Has at least one field.',
    minProperties: 1,
    examples: [
      { sessionIdPrefix: 'support/', metadata: [{ path: 'customer.plan', equals: 'gold' }] },
    ],
  })
