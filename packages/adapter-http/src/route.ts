import type { Page } from '@org/agent-messaging-core'
import {
  errorIn,
  type CallName,
  type ErrorOf,
  shownPage as pageOf,
} from '@org/agent-messaging-core/host'
import { zValidator } from '@hono/zod-validator'
import {
  type Requester,
  errorFor,
  type HttpError,
  lateRefusal,
  reply,
  replyEmpty,
} from '@org/agent-messaging-http-kit'
import type { Context, MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { z } from 'zod'
import { authorize } from './authorize.js'
import { annotated, describeHandler, type RouteNotes } from './document/describe-route.js'
import type { Env, RouteContext } from './env.js'
import { refuse } from './errors.js'
import type { HttpDeps } from './options.js'
import { readJson, readJsonIfSent, unreadBody } from './read-json.js'
import type { BodyOf } from './wire/body.js'
import { named } from './wire/body.js'

/** How a route answers with the value of its use case. */
type Answer<T> = Pick<RouteNotes, 'answers'> & {
  readonly show: (c: RouteContext, value: T) => Response
}

export const shown = <T, Schema extends z.ZodType>(
  description: string,
  body: Schema,
  bodyOf: (value: T) => BodyOf<Schema>,
  status: ContentfulStatusCode = 200,
): Answer<T> => ({
  answers: { [status]: { description, body } },
  show: (c, value) => reply(c, status, bodyOf(value)),
})

/** One page of a list. The schema is named after its rows. */
export const shownPage = <T, Row extends z.ZodType>(
  row: Row,
  bodyOf: (row: T) => BodyOf<Row>,
  more: { readonly lookedBackTo?: z.ZodType } = {},
): Answer<Page<T>> => ({
  answers: { 200: { description: 'One page', body: pageSchema(row, more) } },
  show: (c, page) => reply(c, 200, pageOf(page, bodyOf)),
})

const pageSchema = (row: z.ZodType, more: object) =>
  named(`${row.meta()?.id}Page`, {
    data: z.array(row),
    nextCursor: z.string().nullable().describe('Send it as `?cursor=`. Null on the last page.'),
    ...more,
  })

export const withoutBody = (description: string): Answer<unknown> => ({
  answers: { 204: { description } },
  show: replyEmpty,
})

/** For a handler that makes its responses itself. */
export const ownAnswers = (answers: RouteNotes['answers']): Answer<Response> => ({
  answers,
  show: (_, response) => response,
})

/** The errors that a declaration names. The checks add the others. */
type KindIn<Found> = Exclude<
  ErrorOf<Found>['kind'],
  'unavailable' | 'invalid' | 'access_restricted'
>
type Exactly<Named, Found> = [Found] extends [Named]
  ? [Named] extends [Found]
    ? unknown
    : { readonly doesNotHappen: Exclude<Named, Found> }
  : { readonly undocumented: Exclude<Found, Named> }

type Declared<T, Sent extends z.ZodType, Kind> = Omit<
  RouteNotes,
  'tag' | 'answers' | 'body' | 'query'
> & {
  readonly answer: Answer<T>
  /** Checks what the handler gets as `sent`. */
  readonly body?: Sent
  readonly query?: Sent
  readonly maxBodyBytes?: number
  /** The errors of the use case. */
  readonly refusals?: readonly Kind[]
}

type Group = { readonly tag: string; readonly access?: MiddlewareHandler<Env> }
/** A route without an `access` of its group needs the permission of its use case. */
type Access<G extends Group> = G extends { readonly access: MiddlewareHandler<Env> }
  ? unknown
  : { readonly call: CallName }

/**
 * Returns a function that makes the routes of a subject. A route checks the request, calls a use
 * case, and answers with its value or its error. The declaration must name each error of the use
 * case: an undocumented error does not compile.
 */
export const routesOf =
  <G extends Group>(
    d: Pick<HttpDeps, 'authenticate' | 'maxBodyBytes' | 'now' | 'service'>,
    { tag, access }: G,
  ) =>
  <T, Sent extends z.ZodType, Found extends Promise<T>, Kind extends HttpError['kind'] = never>(
    declared: Declared<T, Sent, Kind> & Access<G>,
    handler: (c: RouteContext, sent: z.output<Sent>) => Found & Exactly<Kind, KindIn<Found>>,
  ) => {
    const { answer, body, query, maxBodyBytes = d.maxBodyBytes, refusals = [] } = declared
    const checks: MiddlewareHandler[] = [
      access ?? authorize(d, (declared as { call: CallName }).call),
      ...(body ? [validBody(body, { maxBodyBytes, ...declared })] : []),
      ...(query ? [validQuery(query)] : []),
    ]
    const errors = [...(declared.errors ?? []), ...refusals]
    return describeHandler(check, { ...declared, tag, errors, answers: answer.answers }, checks)

    // Each check ends before the next one starts. Hono's own chain keeps all checks in memory until
    // the answer is ready: more than half a kilobyte each for every waiting caller.
    async function check(c: RouteContext): Promise<Response> {
      for (const one of checks) {
        const refusal = await refusalBy(one, c)
        if (refusal) return refusal
      }
      const answered = await answerOf(c)
      const ended = await lateRefusal(accessOf(c), d)
      if (!ended) return answered
      await answered.body?.cancel()
      return refuse(c, ended)
    }

    async function answerOf(c: RouteContext): Promise<Response> {
      const sent = c.req.valid((body ? 'json' : 'query') as never)
      try {
        return answer.show(c, await handler(c, sent))
      } catch (thrown) {
        return refuse(c, await errorFor(accessOf(c), errorIn(thrown)))
      }
    }
  }

/** A request with a revoked key is refused for that reason, whatever else is wrong with it. */
async function refusalBy(check: MiddlewareHandler, c: RouteContext): Promise<Response | undefined> {
  let isAccepted = false
  try {
    const refusal = await check(c, async () => {
      isAccepted = true
    })
    return isAccepted ? undefined : ((await refuseRevoked(c)) ?? (refusal as Response))
  } catch (thrown) {
    return (await refuseRevoked(c)) ?? refuse(c, errorIn(thrown))
  }
}

/** Returns a refusal if the request has a recalled key that is not valid now. */
async function refuseRevoked(c: RouteContext): Promise<Response | undefined> {
  const revoked = await accessOf(c)?.confirm()
  return revoked && refuse(c, revoked)
}

/** Undefined for a route without an API key. */
const accessOf = (c: RouteContext) => c.get('requester') as Requester | undefined

// This layer checks types and required fields. The service checks sizes and rules, for embedders
// too.

type BodyRules = { readonly maxBodyBytes: number; readonly isBodyOptional?: boolean }

/** Reads and checks the body. */
const validBody = (
  schema: z.ZodType,
  { maxBodyBytes, isBodyOptional = false }: BodyRules,
): MiddlewareHandler<Env> => {
  const read = isBodyOptional ? readJsonIfSent : readJson
  return annotated<MiddlewareHandler<Env>>(
    async (c, next) => {
      const body = await read(c, maxBodyBytes)
      const checked = schema.safeParse(body)
      if (!checked.success) return refuseInvalid(c, { ...checked, data: body }, 'body')
      c.req.addValidatedData('json', checked.data as object)
      return next()
    },
    { body: schema, isBodyOptional, errors: [...unreadBody, 'invalid'] },
  )
}

/** Checks the query. Make the schema with `query`. */
const validQuery = <S extends z.ZodType>(schema: S) =>
  annotated(zValidator('query', schema, refuseInvalidQuery, synchronous), {
    query: schema,
    errors: ['invalid'],
  })

/** Only zod's synchronous parser is compiled. The validator calls `safeParseAsync` by default. */
const synchronous = {
  // TypeScript cannot match the result type of a generic schema.
  validationFunction: (schema: z.ZodType, value: unknown) => schema.safeParse(value) as never,
}

/** Without this limit, a list of 100,000 wrong items gets an answer of 100 times its size. */
const MAX_ISSUES = 20

type Checked = { data: unknown } & ({ success: true } | { success: false; error: z.core.$ZodError })

const refuseInvalidQuery = (result: Checked, c: Context) =>
  result.success ? undefined : refuseInvalid(c as RouteContext, result, 'query')

/** `whole` names the input in an issue that is about no single field. */
function refuseInvalid(
  c: RouteContext,
  { data, error }: { readonly data: unknown; readonly error: z.core.$ZodError },
  whole: 'body' | 'query',
): Response {
  const issues = error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    path: path.join('.') || whole,
    message: whole === 'query' && isRepeated(data, path) ? 'must be given once' : message,
  }))
  return refuse(c, { kind: 'invalid', issues })
}

/** Hono's validator gives a repeated parameter as a list. */
const isRepeated = (query: unknown, [name]: readonly PropertyKey[]): boolean =>
  name !== undefined && Array.isArray((query as Record<PropertyKey, unknown>)[name])
