import type { MessagingService } from '@org/agent-messaging-core'
import type { HttpError } from '@org/agent-messaging-http-kit'
import type { MiddlewareHandler } from 'hono'
import type { ResultAsync } from 'neverthrow'
import type { z } from 'zod'
import type { AnswerHeader, RequestHeader } from './headers.js'

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })

/** The roles of `projectKey` are the permissions that the key must have. */
export const securitySchemes = {
  projectKey: bearer(
    'An API key of the project (`amk_…`). Its roles are the required permissions.',
  ),
  runToken: bearer('The token of one run (`amr_…`). A runtime gets it with the message.'),
  cronSecret: bearer('The `CRON_SECRET` of the operator.'),
  operatorKey: bearer('The `SERVICE_OPERATOR_KEY` of the operator.'),
  metricsToken: bearer('The metrics token of the operator.'),
} as const
type SecurityScheme = keyof typeof securitySchemes

/** A success. Its body is JSON unless `mediaType` says otherwise. */
export type DescribedAnswer = {
  readonly description: string
  readonly body?: z.ZodType
  readonly mediaType?: string
  readonly headers?: readonly AnswerHeader[]
}

/** A handler's part in the description of its routes: access, input and errors. */
export type HandlerNotes = {
  readonly security?: { readonly [Scheme in SecurityScheme]?: readonly string[] }
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly isBodyOptional?: boolean
  readonly errors?: readonly HttpError['kind'][]
}

/** The parts of a route's description that its handlers do not add. */
export type RouteNotes = HandlerNotes & {
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** The methods of a route that is registered with `all`, each with the id of its operation. */
  readonly methods?: { readonly [method: string]: string }
  readonly requestHeaders?: readonly RequestHeader[]
  /** The errors of its use case. See `describeRoute`. */
  readonly refusals?: { readonly [Kind in HttpError['kind']]?: true }
  readonly answers: { readonly [status: number]: DescribedAnswer }
}

const notesByHandler = new WeakMap<object, readonly (HandlerNotes | RouteNotes)[]>()

/**
 * Attaches notes to a handler, and returns the handler. The document describes the code that runs.
 */
export function annotated<H extends object>(handler: H, notes: HandlerNotes): H {
  notesByHandler.set(handler, [notes])
  return handler
}

/** Attaches the notes of all `parts` to a handler that is made of them. */
export function annotatedAs<H extends object>(handler: H, parts: readonly object[]): H {
  notesByHandler.set(handler, notesIn(parts))
  return handler
}

const notesIn = (handlers: readonly object[]) =>
  handlers.flatMap((handler) => notesByHandler.get(handler) ?? [])

/** The errors of a use case, without the ones that handlers for keys, bodies and queries note. */
type RefusalOf<UseCase> = UseCase extends (
  ...input: never[]
) => ResultAsync<unknown, { kind: infer Kind extends HttpError['kind'] }>
  ? Exclude<Kind, 'unavailable' | 'invalid'>
  : never
type Refusals<UseCase> = [RefusalOf<UseCase>] extends [never]
  ? { readonly refusals?: never }
  : { readonly refusals: { readonly [Kind in RefusalOf<UseCase>]: true } }
export type Service = MessagingService

/**
 * Makes a handler that does nothing but describe its route. `UseCase` is the use case that the
 * route calls. The notes must name each of its errors: an undocumented error does not compile.
 */
export const describeRoute = <UseCase = undefined>(
  notes: RouteNotes & Refusals<UseCase>,
): MiddlewareHandler =>
  annotated((_, next) => next(), { ...notes, errors: [...(notes.errors ?? []), ...kindsIn(notes)] })

const kindsIn = ({ refusals = {} }: RouteNotes) => Object.keys(refusals) as HttpError['kind'][]

/** Combines the notes of a route's handlers. Returns undefined if the route has no description. */
export function notesOf(handlers: readonly object[]): RouteNotes | undefined {
  const all = notesIn(handlers)
  const described = all.find((one): one is RouteNotes => 'operationId' in one)
  return (
    described && {
      ...Object.assign({}, ...all),
      ...described,
      errors: all.flatMap(({ errors = [] }) => errors),
    }
  )
}
