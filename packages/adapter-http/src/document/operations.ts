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

/** The routes that somebody describes, one entry for each method, in the order of their descriptions: what stands before them all has none. */
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

/** OpenAPI's paths object. */
export function pathsOf(operations: readonly Operation[], write: Write) {
  const byPath = groupedBy(operations, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
  return Object.fromEntries(
    [...byPath].map(([path, those]) => [
      path,
      Object.fromEntries(those.map((one) => [one.method, operationObject(one, write)])),
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

/** By the segment before them: what a name in a path stands for. */
const named: Record<string, string> = {
  agents: 'The agent: its id or its name.',
  sessions: 'The session, as its first message named it.',
  principals: 'The end user: the `endUserId` of messages.',
  events: 'The event’s name and `.json`, such as `message.responded.json`.',
}

const pathParameters = (path: string) =>
  [...path.matchAll(/(\w+)\/:(\w+)/g)].map(([, before = '', name]) => ({
    ...{ name, in: 'path', required: true },
    ...(named[before] === undefined
      ? { schema: { type: 'string', format: 'uuid' } }
      : { description: named[before], schema: { type: 'string' } }),
  }))

function queryParameters({ query }: RouteNotes, write: Write) {
  const { properties = {}, required = [] }: QueryShape = query ? write(query, 'input') : {}
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    ...{ name, in: 'query', required: required.includes(name), schema },
    ...(description !== undefined && { description }),
  }))
}
type QueryShape = {
  readonly properties?: Record<string, JsonSchema>
  readonly required?: readonly string[]
}
