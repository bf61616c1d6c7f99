import { filterLimits } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { textOf } from '../schemas.js'
import { uuid, named } from './body.js'

const path = z.string().meta({
  minLength: 1,
  maxLength: filterLimits.pathLength,
  pattern: '^[^.\\x00]+(\\.[^.\\x00]+){0,9}$',
  description: 'Nested keys, with dots between them. At most 10 keys.',
  examples: ['customer.plan'],
})
const scalar = z.union([
  z.string().max(filterLimits.equalsLength),
  z.number(),
  z.boolean(),
  z.null(),
])
const exists = z.boolean().describe('`false`: the object must not have the path.')
const prefix = z
  .string()
  .meta({ ...textOf(filterLimits.equalsLength), description: 'Begins the string at the path.' })
const min = z.number().describe('The least number that matches.')
const max = z.number().describe('The greatest number that matches.')
const agentId = uuid.optional().describe('Only events of this agent.')
const sessionIdPrefix = z
  .string()
  .optional()
  .meta({
    ...textOf(filterLimits.sessionIdPrefixLength),
    description: 'Only events of sessions whose id starts with this text.',
  })
const about = {
  metadata: 'Conditions on the metadata of the message or of the published event. All must hold.',
  data: 'Conditions on the `data` of the event. All must hold.',
}

const conditionSchema = named(
  'FilterCondition',
  {
    path: z.string(),
    equals: scalar.optional(),
    exists: exists.optional(),
    prefix: prefix.optional(),
    min: min.optional(),
    max: max.optional(),
  },
  { description: 'Has `equals`, `exists`, `prefix`, or `min` and `max`.' },
)
const conditionsSchema = (description: string) =>
  z.array(conditionSchema).readonly().optional().meta({ description })

/** An event must match every given field. */
export const webhookFilterSchema = named('WebhookFilter', {
  agentId,
  sessionIdPrefix,
  metadata: conditionsSchema(about.metadata),
  data: conditionsSchema(about.data),
})

const newConditionSchema = z.xor([
  z.strictObject({ path, equals: scalar }).meta({ id: 'EqualsCondition' }),
  z.strictObject({ path, exists }).meta({ id: 'ExistsCondition' }),
  z.strictObject({ path, prefix }).meta({ id: 'PrefixCondition' }),
  z
    .strictObject({ path, min: min.optional(), max: max.optional() })
    .meta({ id: 'RangeCondition', minProperties: 2 }),
])
const newConditionsSchema = (description: string) =>
  z.array(newConditionSchema).min(1).max(filterLimits.conditions).nullish().meta({ description })

/** The filter of a request. */
export const newWebhookFilterSchema = z
  .strictObject({
    agentId: agentId.nullable(),
    sessionIdPrefix: sessionIdPrefix.nullable(),
    metadata: newConditionsSchema(about.metadata),
    data: newConditionsSchema(about.data),
  })
  .meta({
    id: 'NewWebhookFilter',
    description: 'Has at least one field.',
    minProperties: 1,
    examples: [
      { sessionIdPrefix: 'support/', metadata: [{ path: 'customer.plan', equals: 'gold' }] },
      { data: [{ path: 'amount', min: 100 }] },
    ],
  })
