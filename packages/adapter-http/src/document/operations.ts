import type { RouterRoute } from 'hono/types'
import { notesOf, type DescribedAnswer, type RouteNotes } from './describe-route.js'
import { errorAnswers } from './errors.js'
import { groupedBy } from './grouped-by.js'
import { headerRefs } from './headers.js'
import type { JsonSchema, schemaWriter } from './json-schema.js'

type Write = ReturnType<typeof schemaWriter>['write']
export type Operation = {
  readonly method: string
  readonly path: string
  readonly notes: RouteNotes
}

/**
 * Returns the described routes in their order, one entry per method. Middleware has no description.
 */
export function describedRoutes(routes: readonly RouterRoute[]): Operation[] {
  const keyOf = ({ method, path }: RouterRoute): string => `${method} ${path}`
  const byRoute = groupedBy(routes, keyOf)
  const described = routes.filter(({ handler }) => notesOf([handler]) !== undefined)
  return described.flatMap((route) => {
    const notes = notesOf((byRoute.get(keyOf(route)) ?? []).map(({ handler }) => handler))
    const methods = notes?.methods ?? [route.method]
    return notes
      ? methods.map((method) => ({ method: method.toLowerCase(), path: route.path, notes }))
      : []
  })
}

/** Returns OpenAPI's paths object. */
export function pathsOf(operations: readonly Operation[], write: Write) {
  const byPath = groupedBy(operations, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
  return Object.fromEntries(
    [...byPath].map(([path, methods]) => [
      path,
      Object.fromEntries(methods.map((one) => [one.method, operationObject(one, write)])),
    ]),
  )
}

function operationObject({ method, path, notes }: Operation, write: Write) {
  const { operationId, tag, summary, description, security = {}, methods = [] } = notes
  const isFirst = methods.length === 0 || method === methods[0]?.toLowerCase()
  const schemes = Object.entries(security)
  return {
    operationId: isFirst ? operationId : `${operationId}By${method}`,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(schemes.length > 0 && {
      security: schemes.map(([scheme, roles]) => ({ [scheme]: roles })),
    }),
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
      ...errorAnswers([...(notes.errors ?? []), 'internal']),
    },
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

/** Descriptions of path parameters, by the segment before them. */
const parameterDescriptions: Record<string, string> = {
  agents: 'The id or the name of the agent.',
  sessions: 'The `sessionId` of its messages.',
  principals: 'The `endUserId` of the end user.',
  events: 'The name of the event and `.json`, such as `message.responded.json`.',
}

const pathParameters = (path: string) =>
  [...path.matchAll(/(\w+)\/:(\w+)/g)].map(([, before = '', name]) => ({
    name,
    in: 'path',
    required: true,
    ...(parameterDescriptions[before] === undefined
      ? { schema: { type: 'string', format: 'uuid' } }
      : { description: parameterDescriptions[before], schema: { type: 'string' } }),
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
