import { type EventName, type Json } from '@org/agent-messaging-core'
import { PUBLISHED_PATTERN, sampleEvent } from '@org/agent-messaging-core/host'
import type { EventData } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { jsonObject } from '../schemas.js'
import { at, count, uuid, type BodyOf, named } from './body.js'
import { eventTypeSchema, unreachableErrorSchema } from './delivery.js'
import { inputAnswerSchema, openInputSchema } from './input.js'
import { partSchema } from './part.js'
import { principalSchema } from './principal.js'
import { runErrorSchema, runUsageSchema } from './run.js'
import { variants } from './variants.js'

const agentId = uuid
const json = z.custom<Json>().describe('Any JSON: the value in `metadata`.')
const metadata = jsonObject.describe('The metadata of the message, or `{}`.')
const echo = { metadata, channel: json.optional(), correlationId: json.optional() }
const ofMessage = { messageId: uuid, agentId, sessionId: z.string() }
const runtime = z.string().describe('The kind of the runtime.')

const questionData = z.object({
  ...ofMessage,
  executionPrincipal: principalSchema,
  ...echo,
  input: openInputSchema,
  inputUrl: z
    .string()
    .optional()
    .describe(
      'A page where a person can answer once. Absent if the service has no public URL. Only ' +
        'webhooks get it.',
    ),
})

const lastAttempt = variants('outcome', [
  named('RefusedAttempt', { outcome: z.literal('refused'), statusCode: count }),
  named('UnreachableAttempt', { outcome: z.literal('unreachable'), error: unreachableErrorSchema }),
]).meta({ id: 'FailedAttempt' })

/** The `data` of each event. */
const data = {
  'message.responded': z.object({
    ...ofMessage,
    response: z.string(),
    executionPrincipal: principalSchema,
    ...echo,
    parts: z
      .array(partSchema)
      .readonly()
      .optional()
      .describe('The parts of an answer that is more than text, if the receiver asked for them.'),
    partsTruncated: z
      .literal(true)
      .optional()
      .describe('The answer has more parts. `GET` of the message has all that are stored.'),
    responseTimeMs: count.describe('The duration of the run that answered.'),
    usage: runUsageSchema.optional(),
  }),
  'message.failed': z.object({
    ...ofMessage,
    error: runErrorSchema,
    executionPrincipal: principalSchema,
    ...echo,
    failedAt: at,
  }),
  'message.cancelled': z.object({
    ...ofMessage,
    executionPrincipal: principalSchema,
    ...echo,
    cancelledAt: at,
  }),
  'message.input_required': questionData,
  'message.input_reminder': questionData,
  'message.input_received': questionData.extend({ answer: inputAnswerSchema }),
  'agent.started': z.object({ agentId, runtime, startedAt: at }),
  'agent.stopped': z.object({ agentId, runtime, stoppedAt: at }),
  'agent.error': z.object({
    agentId,
    error: runErrorSchema,
    messageId: uuid
      .optional()
      .describe('Present with the next fields if a message caused the error.'),
    sessionId: z.string().optional(),
    executionPrincipal: principalSchema.optional(),
    ...echo,
    metadata: metadata.optional(),
  }),
  'webhook.failing': z.object({
    webhookId: uuid,
    consecutiveFailures: count,
    failingSince: at,
    circuitOpenUntil: at,
    lastAttempt,
  }),
  'webhook.recovered': z.object({
    webhookId: uuid,
    failingSince: at.describe('That of the `webhook.failing` before.'),
    recoveredAt: at,
  }),
  'webhook.disabled': z.object({
    webhookId: uuid,
    reason: z.enum(['failing', 'gone']),
    disabledAt: at,
    consecutiveFailures: count,
    failingSince: at,
  }),
  'delivery.exhausted': z.object({
    deliveryId: uuid,
    webhookId: uuid,
    eventId: z.string(),
    event: eventTypeSchema,
    attemptCount: count,
    lastAttempt,
    exhaustedAt: at,
  }),
  'webhook.test': z.object({ webhookId: uuid }),
} as const satisfies { readonly [Name in EventName]: z.ZodType }

/** Does not compile if the documented and the sent fields of an event differ. */
type Documented<Name extends EventName> = BodyOf<(typeof data)[Name]>
type Differing = {
  [Name in EventName]: EventData[Name] extends Documented<Name>
    ? keyof EventData[Name] extends keyof Documented<Name>
      ? never
      : Name
    : Name
}[EventName]
true satisfies [Differing] extends [never] ? true : Differing

/** Returns `MessageRespondedEvent` for `message.responded`. */
const idOf = (name: string, suffix = 'Event'): string =>
  `${name.replaceAll(/(?:^|\.)(\w)/g, (_, first: string) => first.toUpperCase())}${suffix}`

const eventSchema = (name: EventName) =>
  named(
    idOf(name),
    {
      event: z.literal(name),
      id: uuid.describe('The id of the event.'),
      createdAt: at,
      data: data[name].meta({ id: idOf(name, 'EventData') }),
    },
    { examples: [sampleEvent(name)] },
  )

/** The bodies of deliveries. */
export const eventSchemas = (Object.keys(data) as EventName[]).map((name) => ({
  name,
  id: idOf(name),
  schema: eventSchema(name),
}))

const ownEvent = variants(
  'event',
  eventSchemas.map(({ schema }) => schema),
).meta({ id: 'ServiceEvent', description: 'Later versions can add events.' })

const publishedEvent = named(
  'PublishedEvent',
  {
    event: z.string().meta({ pattern: PUBLISHED_PATTERN, description: 'The type.' }),
    id: z.string(),
    createdAt: at,
    data: jsonObject.describe('The published object, with the fields that were given beside it.'),
  },
  {
    examples: [
      {
        event: 'order.paid',
        id: 'order-42-paid',
        createdAt: '2026-11-01T12:00:01.000Z',
        data: { orderId: 'o-42', amount: 1200 },
      },
    ],
  },
)

/** Any event of the log. */
export const eventSchemaOfAnyName = z.union([ownEvent, publishedEvent]).meta({ id: 'Event' })
