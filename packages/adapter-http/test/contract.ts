import { z } from 'zod'

type Schema = { readonly [keyword: string]: unknown }
type Answer = {
  readonly headers: Record<string, unknown>
  readonly content?: Record<string, { readonly schema: Schema }>
}
type Ref = { readonly $ref: string }
type Parameter =
  | Ref
  | {
      readonly name: string
      readonly in: string
      readonly required?: boolean
      readonly schema: Schema
    }
type Operation = {
  readonly operationId: string
  readonly security?: readonly { readonly [scheme: string]: readonly string[] }[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> }
  readonly responses: Record<string, Answer | Ref>
  readonly 'x-errors': readonly { readonly status: number; readonly code: string }[]
}
export type Document = {
  readonly paths: Record<string, Record<string, Operation>>
  readonly webhooks: Record<string, { readonly post: Operation }>
  readonly components: Record<string, Record<string, Schema>> & {
    readonly headers: Record<string, { readonly required?: boolean }>
  }
}

/**
 * Compiles the document’s schemas to validators. Every answer must match its description in every
 * field.
 */
export function contractOf(document: Document) {
  const components = document.components['schemas'] ?? {}
  const validators = { answers: new Map<Schema, z.ZodType>(), bodies: new Map<Schema, z.ZodType>() }
  const routes = Object.entries(document.paths).map(([path, methods]) => ({
    pattern: patternOf(path),
    methods,
  }))

  const validatorOf = (schema: Schema, kind: keyof typeof validators): z.ZodType => {
    const known = validators[kind].get(schema)
    if (known) return known
    const whole = withDefs(schema, components)
    const made = compiledOnce(kind === 'answers' ? closed(whole) : whole)
    validators[kind].set(schema, made)
    return made
  }
  const errorAnswer = document.components['responses']?.['Error'] as unknown as Answer
  const resolved = <T extends object>(found: T | Ref): T =>
    '$ref' in found
      ? (document.components[found.$ref.split('/')[2] ?? '']?.[found.$ref.split('/')[3] ?? ''] as T)
      : found

  function operationOf(method: string, path: string): Operation | undefined {
    const found = (
      routes.find(({ pattern }) => pattern.test(path)) ??
      // The document describes once what a platform key finds below each project.
      routes.find(({ pattern }) => pattern.test(path.replace(OF_A_PROJECT, '/v1/')))
    )?.methods
    return found?.[method.toLowerCase()] ?? (method === 'HEAD' ? found?.['get'] : undefined)
  }

  /** Returns the problems of an answer. */
  async function problemsOf(method: string, path: string, response: Response): Promise<string[]> {
    const operation = operationOf(method, path)
    if (!operation && isInternal(path)) return []
    if (OF_A_PROJECT.test(path) && response.status === 404)
      return errorProblems(undefined, method, response)
    const described = operation?.responses[response.status]
    if (!operation || !described) return errorProblems(operation, method, response)
    const { headers, content } = resolved(described)
    return [
      ...headerProblems(headers, response),
      ...(method === 'HEAD' ? [] : await bodyProblems(content, response)),
    ]
  }

  /** Each operation lists its errors. Accepts any 405, and a 404 of a path without operations. */
  async function errorProblems(
    operation: Operation | undefined,
    method: string,
    response: Response,
  ): Promise<string[]> {
    const listed = operation?.['x-errors'].filter(({ status }) => status === response.status) ?? []
    const isCommon = response.status === 405 || (!operation && response.status === 404)
    if (listed.length === 0 && !isCommon)
      return [`answers ${response.status}, which is not described`]
    const { headers, content } = errorAnswer
    const problems = headerProblems(headers, response)
    if (method === 'HEAD' || response.body === null) return problems
    const { error } = (await response.clone().json()) as { error?: { code: string } }
    const isListed = isCommon || listed.some(({ code }) => code === error?.code)
    return [
      ...problems,
      ...(await bodyProblems(content, response)),
      ...(isListed ? [] : [`has the code ${error?.code}, which is not described`]),
    ]
  }

  function headerProblems(headers: Record<string, unknown>, response: Response): string[] {
    return Object.entries(document.components.headers).flatMap(([name, { required }]) => {
      const isThere = response.headers.has(name)
      if (isThere && !(name in headers)) return [`has a header ${name}, which is not described`]
      return required && !isThere ? [`has no header ${name}`] : []
    })
  }

  async function bodyProblems(content: Answer['content'], response: Response): Promise<string[]> {
    const type = response.headers.get('content-type')?.split(';')[0] ?? ''
    if (!content) return response.body === null ? [] : ['has a body, which is not described']
    const described = content[type]
    if (!described) return [`is of type ${type}, which is not described`]
    if (type !== 'application/json') return []
    return invalidities(described.schema, await response.clone().json())
  }

  const invalidities = (schema: Schema, value: unknown): string[] =>
    issuesOf(validatorOf(schema, 'answers'), value)

  /** Returns the problems of an accepted request body. Additional fields are allowed. */
  const sentProblems = (method: string, path: string, body: unknown): string[] => {
    const schema = operationOf(method, path)?.requestBody?.content['application/json']?.schema
    return schema ? issuesOf(validatorOf(schema, 'bodies'), body) : []
  }

  return { problemsOf, sentProblems, invalidities }
}

const OF_A_PROJECT = /\/v1\/projects\/[^/]+\//

/** The routes of the documentation are not part of the API. */
const isInternal = (path: string): boolean =>
  /\/(docs(\/.*)?|openapi\.json|schemas\/.*|inputs\/[^/]+(\/[^/]+)?)$/.test(path)

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)

const issuesOf = (schema: z.ZodType, value: unknown): string[] =>
  schema
    .safeParse(value)
    .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []

/** Returns the schema with the components that it refers to. */
function withDefs(schema: Schema, components: Record<string, Schema>): Schema {
  const $defs: Record<string, Schema> = {}
  const add = (part: Schema): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(
      /"#\/components\/schemas\/([^"]+)"/g,
    )) {
      const component = components[name]
      if (!component || name in $defs) continue
      $defs[name] = component
      add(component)
    }
  }
  add(schema)
  return JSON.parse(
    JSON.stringify({ ...schema, $defs }).replaceAll('#/components/schemas/', '#/$defs/'),
  ) as Schema
}

/** By their text, because each server has a document of its own. */
const compiledSchemas = new Map<string, z.ZodType>()

function compiledOnce(schema: Schema): z.ZodType {
  const text = JSON.stringify(schema)
  const known = compiledSchemas.get(text) ?? compiled(schema)
  compiledSchemas.set(text, known)
  return known
}

const compiled = (schema: Schema): z.ZodType =>
  z.fromJSONSchema(supported(schema) as Schema, { registry: z.registry() })

/** Removes keywords that zod does not know: neither changes which answers match. */
const supported = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    const { unevaluatedProperties: _closed, discriminator: _tag, ...rest } = part as Schema
    return rest
  })

/** Published schemas allow additional fields. Here each field must be named. */
function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closed) as T
  if (typeof value !== 'object' || value === null) return value
  const inner: Record<string, unknown> = Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, closed(part)]),
  )
  const isOpen =
    inner['type'] === 'object' && 'properties' in inner && !('additionalProperties' in inner)
  return (isOpen ? { ...inner, additionalProperties: false } : inner) as T
}
