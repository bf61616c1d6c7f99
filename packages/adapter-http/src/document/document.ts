import type { RouterRoute } from 'hono/types'
import { errorSchema } from '../wire/error.js'
import { securitySchemes } from './describe-route.js'
import { errorComponents } from './errors.js'
import { webhooksOf } from './events.js'
import { answerHeaders, requestHeaders } from './headers.js'
import { schemaWriter } from './json-schema.js'
import { describedRoutes, pathsOf } from './operations.js'

const description = `Send messages to agents and wait for their answers. Signed webhooks report
answers and events of agents.

Bodies are JSON in UTF-8. Instants are ISO 8601 in UTC. A list is
\`{"data": […], "nextCursor": …}\`. Later versions can add fields to answers.

Every answer has an \`X-Request-Id\`. A request can send its own: 1 to 128 characters of A-Z, a-z,
0-9, \`.\`, \`_\` and \`-\`.

HEAD answers like GET, without the body. Streams and the cron route do not accept HEAD. A method
that a path does not accept gets a 405 with \`Allow\`. Malformed HTTP gets a bare 400, 408, 417 or 431.`

/** Errors that belong to no single operation. */
const COMMON_ERRORS = ['internal', 'route_not_found', 'method_not_allowed'] as const

/** The parts of an OpenAPI document. Tools read their contents. */
type OpenApiDocument = {
  readonly openapi: string
  readonly jsonSchemaDialect: string
  readonly info: object
  readonly paths: object
  readonly webhooks: object
  readonly components: object
}

/** Returns the OpenAPI 3.1 document of an app with these routes. */
export function openApiDocument(
  routes: readonly RouterRoute[],
  headerPrefix: string,
): OpenApiDocument {
  const { write, components } = schemaWriter()
  const operations = describedRoutes(routes)
  write(errorSchema, 'output')
  const errors = new Set([
    ...operations.flatMap(({ notes }) => notes.errors ?? []),
    ...COMMON_ERRORS,
  ])
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: { title: 'Agent Messaging and Webhooks Service', version: '1', description },
    paths: pathsOf(operations, write),
    webhooks: webhooksOf(headerPrefix, write),
    components: {
      schemas: components,
      parameters: requestHeaders,
      headers: answerHeaders,
      ...errorComponents([...errors]),
      securitySchemes,
    },
  }
}
