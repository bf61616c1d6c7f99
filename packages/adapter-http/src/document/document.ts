import type { RouterRoute } from 'hono/types'
import { errorSchema } from '../wire/error.js'
import { errorComponents } from './errors.js'
import { webhooksOf } from './events.js'
import { answerHeaders, requestHeaders } from './headers.js'
import { schemaWriter } from './json-schema.js'
import { describedRoutes, pathsOf } from './operations.js'
import { securitySchemes } from './security.js'

const description = `Send messages to agents and wait for their answers; learn of answers and of what happens to agents by signed webhooks.

Bodies are JSON in UTF-8, instants ISO 8601 in UTC. Lists are \`{"data": […], "nextCursor": …}\`. An answer may have more fields in a later
version. Every answer has an \`X-Request-Id\`, which a request may bring along (1 to 128 of A-Z, a-z, 0-9, \`.\`, \`_\`, \`-\`). HEAD answers as GET does,
without the body, but for streams and the cron route; other methods of a path that has some are a 405 with \`Allow\`. What is not well-formed
HTTP gets a bare 400, 408, 417 or 431.`

/** What belongs to no one operation. */
const EVERYWHERE = ['internal', 'route_not_found', 'method_not_allowed'] as const

/** Its parts, as OpenAPI names them. What is in them is for the tools that read such documents. */
type OpenApiDocument = {
  readonly openapi: string
  readonly jsonSchemaDialect: string
  readonly info: object
  readonly paths: object
  readonly webhooks: object
  readonly components: object
}

/** The OpenAPI 3.1 document of an app that has these routes. */
export function openApiDocument(
  routes: readonly RouterRoute[],
  headerPrefix: string,
): OpenApiDocument {
  const { write, components } = schemaWriter()
  const operations = describedRoutes(routes)
  write(errorSchema, 'output')
  const errors = new Set([...operations.flatMap(({ notes }) => notes.errors ?? []), ...EVERYWHERE])
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
