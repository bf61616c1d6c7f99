import { eventSummaries, type RuntimeKind } from '@org/agent-messaging-core/host'
import type { RouterRoute } from 'hono/types'
import { errorSchema } from '../wire/error.js'
import { eventSchemas } from '../wire/event.js'
import { runtimeSchemas } from '../wire/runtime.js'
import { streamChunkSchema, streamPartSchema, streamStateSchema } from '../wire/stream.js'
import { securitySchemes } from './describe-route.js'
import { errorResponse } from './errors.js'
import { answerHeaders, requestHeaders } from './headers.js'
import { normalized, schemaWriter } from './json-schema.js'
import { describedRoutes, pathsOf } from './operations.js'

const description = `Send messages to agents and wait for their answers. Signed webhooks report
answers and events of agents.

Bodies are JSON in UTF-8. Instants are ISO 8601 in UTC. A list is
\`{"data": […], "nextCursor": …}\`.

Later versions can add fields to answers, and values to the enums of answers. Ignore fields that you
do not know, and handle values that you do not know. In a creation, null for an optional field means
that the field is absent, except for \`executionPrincipal\`.

Every answer has an \`X-Request-Id\`. A request can send its own: 1 to 128 characters of A-Z, a-z,
0-9, \`.\`, \`_\` and \`-\`.

HEAD answers like GET, without the body. Streams and the cron route do not accept HEAD. A method
that a path does not accept gets a 405 with \`Allow\`. Malformed HTTP gets a bare 400, 408, 417 or 431.`

const tags = {
  Messages: 'Send messages, read and stream their answers.',
  Inputs: 'Questions of agents to people.',
  Sessions: 'Conversations with an agent.',
  Runtimes: 'The callback of agents that answer later.',
  Agents: 'Create, change, start and stop agents.',
  Webhooks: 'Receivers of events.',
  Deliveries: 'Events on their way to webhooks.',
  Events: 'Events for receivers without a public URL, and the bodies that webhooks get.',
  Recoveries: 'Send many deliveries again.',
  Principals: 'The data of one end user.',
  'API keys': 'Keys of the project.',
  'Audit log': 'Changes with their actor and time.',
  Usage: 'Counts of the project by day.',
  Projects: 'For the operator: projects and their keys.',
  Operations: 'For operators: health, metrics, and passes of all due work.',
}

/** The parts of an OpenAPI document. Tools read their contents. */
type OpenApiDocument = {
  readonly openapi: string
  readonly jsonSchemaDialect: string
  readonly info: object
  readonly tags: readonly object[]
  readonly paths: object
  readonly webhooks: object
  readonly components: object
}

/** The facts of a service that its document shows. */
export type Documented = {
  readonly headerPrefix: string
  readonly runtimeKinds: readonly RuntimeKind[]
}

/** Returns the OpenAPI 3.1 document of an app with these routes. */
export function openApiDocument(
  routes: readonly RouterRoute[],
  { headerPrefix, runtimeKinds }: Documented,
): OpenApiDocument {
  const { write, components } = schemaWriter()
  const operations = describedRoutes(routes)
  const named = [errorSchema, streamStateSchema, streamChunkSchema, streamPartSchema]
  for (const schema of named) write(schema, 'output')
  const usedTags = new Set(operations.map(({ notes }) => notes.tag))
  const usedSchemes = new Set(operations.flatMap(({ notes }) => Object.keys(notes.security ?? {})))
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Agent Messaging and Webhooks Service',
      version: '1',
      description,
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'The operator of this server' },
    },
    tags: Object.entries(tags)
      .filter(([name]) => usedTags.has(name) || name === 'Events')
      .map(([name, about]) => ({ name, description: about })),
    paths: pathsOf(operations, write),
    webhooks: webhooksOf(headerPrefix, write),
    components: {
      schemas: { ...components, ...normalized(runtimeSchemas(runtimeKinds)) },
      parameters: requestHeaders,
      headers: answerHeaders,
      responses: { Error: errorResponse() },
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).filter(([scheme]) => usedSchemes.has(scheme)),
      ),
    },
  }
}

const eventDescription = `Verify the signature over the raw body before you parse it. Deduplicate by the
delivery id. Answer 2xx quickly, then do the work. Any other answer is retried with the same id and
the same bytes, until the schedule ends.`

/** Returns OpenAPI's webhooks object. The service's own headers start with `headerPrefix`. */
function webhooksOf(headerPrefix: string, write: ReturnType<typeof schemaWriter>['write']) {
  const parameters = deliveryHeaders(headerPrefix)
  return Object.fromEntries(
    eventSchemas.map(({ name, id, schema }) => [
      name,
      {
        post: {
          operationId: `on${id}`,
          tags: ['Events'],
          summary: eventSummaries[name],
          description: eventDescription,
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
