import type { RouterRoute } from 'hono/types'
import { NO_NUL } from '../schemas.js'
import { notesOf, type DescribedAnswer, type RouteNotes } from './describe-route.js'
import { errorsOf } from './errors.js'
import { headerRefs } from './headers.js'
import type { JsonSchema, schemaWriter } from './json-schema.js'

type Write = ReturnType<typeof schemaWriter>['write']
export type Operation = {
  readonly method: string
  readonly path: string
  readonly notes: RouteNotes
}

/** Returns the described routes in their order, one entry per method. */
export const describedRoutes = (routes: readonly RouterRoute[]): Operation[] =>
  routes.flatMap(({ handler, method: registered, path }) => {
    const notes = notesOf(handler)
    if (!notes) return []
    const methods = notes.methods ?? { [registered]: notes.operationId }
    return Object.entries(methods).map(([method, operationId]) => ({
      method: method.toLowerCase(),
      path,
      notes: { ...notes, operationId },
    }))
  })

/** Returns OpenAPI's paths object. */
export function pathsOf(operations: readonly Operation[], write: Write) {
  const byPath = Map.groupBy(operations, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
  return Object.fromEntries(
    [...byPath].map(([path, methods]) => [
      path,
      Object.fromEntries(methods.map((one) => [one.method, operationObject(one, write)])),
    ]),
  )
}

function operationObject({ path, notes }: Operation, write: Write) {
  const { operationId, tag, summary, description, security = {} } = notes
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: Object.entries(security).flatMap(([scheme, roles]) =>
      roles.length === 0 ? { [scheme]: [] } : roles.map((role) => ({ [scheme]: [role] })),
    ),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(notes, write),
      ...(notes.requestHeaders ?? []).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(notes.body && {
      requestBody: {
        required: !notes.isBodyOptional,
        content: { 'application/json': { schema: write(notes.body, 'input') } },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(notes.answers).map(([status, answer]) => [
          status,
          answerObject(answer, write),
        ]),
      ),
      '4XX': { $ref: '#/components/responses/Error' },
      '5XX': { $ref: '#/components/responses/Error' },
    },
    'x-errors': errorsOf([...(notes.errors ?? []), 'internal']),
  }
}

const answerObject = (
  { description, body, mediaType = 'application/json', headers = [] }: DescribedAnswer,
  write: Write,
) => ({
  description,
  headers: headerRefs(['X-Request-Id', ...headers]),
  ...(body && { content: { [mediaType]: { schema: write(body, 'output') } } }),
})

/** Descriptions of path parameters that are names, by the segment before them. */
const names: Record<string, string> = {
  agents: 'The id or the name of the agent.',
  'event-types': 'The name of the event type.',
  events: 'The id of the event.',
  sessions: 'The `sessionId` of its messages.',
  principals: 'The `endUserId` of the end user.',
  projects: 'The id or the `externalId` of the project.',
}
/** Descriptions of path parameters that are ids. */
const ids: Record<string, string> = {
  messages: 'The `messageId` of the message.',
  webhooks: 'The id of the webhook.',
  deliveries: 'The id of the delivery.',
  recoveries: 'The id of the recovery.',
  'portal-links': 'The id of the portal link.',
  keys: 'The id of the API key.',
  'platform-keys': 'The id of the platform key.',
}

const pathParameters = (path: string) =>
  [...path.matchAll(/([\w-]+)\/:(\w+)/g)].map(([, before = '', name]) => ({
    name,
    in: 'path',
    required: true,
    ...(names[before] === undefined
      ? { description: ids[before], schema: { type: 'string', format: 'uuid' } }
      : { description: names[before], schema: { type: 'string', minLength: 1, pattern: NO_NUL } }),
  }))

function queryParameters({ query }: RouteNotes, write: Write) {
  const { properties = {}, required = [] }: QueryShape = query ? write(query, 'input') : {}
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(description !== undefined && { description }),
  }))
}
type QueryShape = {
  readonly properties?: Record<string, JsonSchema>
  readonly required?: readonly string[]
}
