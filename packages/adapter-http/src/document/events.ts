import type { EventName } from '@org/agent-messaging-core'
import { eventSchemas } from '../wire/event.js'
import type { schemaWriter } from './json-schema.js'

const summaries: { readonly [Name in EventName]: string } = {
  'message.responded': 'A message was answered, even if a 200 already carried the answer',
  'message.failed': 'A message failed and will not be retried',
  'message.cancelled': 'A message was cancelled',
  'message.input_required': 'An agent asks a person, and its message waits for the answer',
  'message.input_reminder': 'A question of an agent will soon expire',
  'message.input_received': 'A question of an agent was answered',
  'agent.started': 'An agent started',
  'agent.stopped': 'An agent stopped',
  'agent.error': 'An agent failed, or a message failed or was cancelled',
  'webhook.disabled': 'Another webhook of the project was disabled because of its failures',
  'delivery.exhausted': 'The last attempt of a delivery to another webhook failed',
  'webhook.test': 'A test event was requested for this webhook',
}

const description = `Verify the signature over the raw body before you parse it. Deduplicate by the
delivery id. Answer 2xx quickly, then do the work. Any other answer is retried with the same id and
the same bytes, until the schedule ends.`

/** Returns OpenAPI's webhooks object. The service's own headers start with `headerPrefix`. */
export function webhooksOf(headerPrefix: string, write: ReturnType<typeof schemaWriter>['write']) {
  const parameters = deliveryHeaders(headerPrefix)
  return Object.fromEntries(
    eventSchemas.map(({ name, id, schema }) => [
      name,
      {
        post: {
          operationId: `on${id}`,
          tags: ['Events'],
          summary: summaries[name],
          description,
          security: [],
          parameters,
          requestBody: {
            required: true,
            content: { 'application/json': { schema: write(schema, 'output') } },
          },
          responses: {
            '2XX': {
              description:
                'The delivery is accepted. The attempt keeps the first 16 KiB of the answer’s ' +
                'body.',
            },
            default: {
              description:
                'The delivery is retried later. `Retry-After` can lengthen the wait, never ' +
                'shorten it.',
            },
          },
        },
      },
    ]),
  )
}

const header = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
})

const deliveryHeaders = (prefix: string) => [
  header(
    `${prefix}-Delivery`,
    'The id of the delivery, the same for all attempts. Deduplicate by it.',
  ),
  header(`${prefix}-Event`, 'The name of the event.'),
  header(
    `${prefix}-Signature`,
    '`sha256=` and the HMAC SHA-256 of the raw body in hex. The key is the secret with its ' +
      '`whsec_`. During a rotation the key is the old secret.',
  ),
  header('webhook-id', 'The id of the delivery (Standard Webhooks).'),
  header('webhook-timestamp', 'The time of this attempt in seconds since 1970. Refuse old ones.'),
  header(
    'webhook-signature',
    '`v1,` and the HMAC SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}` in base64. The key ' +
      'is the base64-decoded rest of the secret after `whsec_`. During a rotation the header has ' +
      'two signatures, separated by a space.',
  ),
  header(
    'traceparent',
    'The trace of the send, with a parent id for this attempt (W3C Trace Context). Present if ' +
      'the send had a valid one.',
    false,
  ),
  header('tracestate', 'The `tracestate` of the send.', false),
]
