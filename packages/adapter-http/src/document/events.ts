import type { EventName } from '@org/agent-messaging-core'
import { eventSchemas } from '../wire/event.js'
import type { schemaWriter } from './json-schema.js'

const summaries: { readonly [Name in EventName]: string } = {
  'message.responded': 'A message was answered; also one whose answer a 200 carried',
  'agent.started': 'An agent runs',
  'agent.stopped': 'An agent was stopped',
  'agent.error': 'A message failed for good, or an agent as a whole did',
  'webhook.disabled': 'Another webhook of the project was disabled for its failures',
  'webhook.test': 'Somebody asked for a test of this webhook',
}

const description = `Verify the signature over the raw body before parsing it, deduplicate by the delivery's id, answer 2xx quickly
and work afterwards. Anything but a 2xx is retried, with the same id and the same bytes, until the schedule ends.`

/** OpenAPI's webhooks object: what a receiver gets, with the headers that `headerPrefix` begins. */
export function webhooksOf(headerPrefix: string, write: ReturnType<typeof schemaWriter>['write']) {
  const parameters = deliveryHeaders(headerPrefix)
  return Object.fromEntries(
    eventSchemas.map(({ name, id, schema }) => [
      name,
      {
        post: {
          ...{
            operationId: `on${id}`,
            tags: ['Events'],
            summary: summaries[name],
            description,
            parameters,
          },
          requestBody: {
            required: true,
            content: { 'application/json': { schema: write(schema, 'output') } },
          },
          responses: {
            '2XX': {
              description:
                'It is accepted. What the answer holds is kept with the attempt, its first 16 KiB.',
            },
            default: {
              description:
                'It is not, and is sent again later; `Retry-After` only ever lengthens the wait.',
            },
          },
        },
      },
    ]),
  )
}

const header = (name: string, words: string, required = true) => ({
  name,
  in: 'header',
  required,
  description: words,
  schema: { type: 'string' },
})

const deliveryHeaders = (prefix: string) => [
  header(`${prefix}-Delivery`, 'The delivery’s id, the same over all attempts: deduplicate by it.'),
  header(`${prefix}-Event`, 'The event’s name.'),
  header(
    `${prefix}-Signature`,
    '`sha256=` and the hex HMAC SHA-256 of the raw body. The key is the secret as it was shown, `whsec_` included; during a rotation, the old one.',
  ),
  header('webhook-id', 'As in Standard Webhooks: the delivery’s id again.'),
  header('webhook-timestamp', 'Seconds since 1970 at this attempt: refuse what is old.'),
  header(
    'webhook-signature',
    '`v1,` and the base64 HMAC SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}`; the key is the decoded part of the secret behind `whsec_`. Two of them, with a space between, during a rotation.',
  ),
  header(
    'traceparent',
    'When the send had a valid one: its trace, and a parent id of this attempt (W3C Trace Context).',
    false,
  ),
  header('tracestate', 'As the send had it.', false),
]
