import type { RuntimeKind } from '@org/agent-messaging-core'
import type { RouterRoute } from 'hono/types'
import { errorSchema } from '../wire/error.js'
import { runtimeSchemas } from '../wire/runtime.js'
import { streamChunkSchema, streamStateSchema } from '../wire/stream.js'
import { securitySchemes } from './describe-route.js'
import { errorResponse } from './errors.js'
import { webhooksOf } from './events.js'
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
  for (const schema of [errorSchema, streamStateSchema, streamChunkSchema]) write(schema, 'output')
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
