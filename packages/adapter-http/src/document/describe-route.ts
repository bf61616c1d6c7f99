import type { MessagingService } from '@org/agent-messaging-core'
import type { MiddlewareHandler } from 'hono'
import type { ResultAsync } from 'neverthrow'
import type { z } from 'zod'
import type { HttpError } from '../errors.js'
import type { AnswerHeader, RequestHeader } from './headers.js'
import type { SecurityScheme } from './security.js'

/** One success. JSON unless `mediaType` says otherwise; nothing at all without a `body`. */
export type DescribedAnswer = {
  readonly description: string
  readonly body?: z.ZodType
  readonly mediaType?: string
  readonly headers?: readonly AnswerHeader[]
}

/** What a handler adds to the description of every route that it stands in: what it lets through, reads and refuses with. */
export type HandlerNotes = {
  readonly security?: { readonly [Scheme in SecurityScheme]?: readonly string[] }
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly isBodyOptional?: boolean
  readonly errors?: readonly HttpError['kind'][]
}

/** What is said beside a route: all that its other handlers cannot know. */
export type RouteNotes = HandlerNotes & {
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Of a route that takes them all in Hono's eyes. */
  readonly methods?: readonly string[]
  readonly requestHeaders?: readonly RequestHeader[]
  /** Of its use case; see `describeRoute`. */
  readonly refusals?: { readonly [Kind in HttpError['kind']]?: true }
  readonly answers: { readonly [status: number]: DescribedAnswer }
}

const notes = new WeakMap<object, readonly (HandlerNotes | RouteNotes)[]>()

/** The handler itself, remembered with what the OpenAPI document is to say of it. So what is documented is what runs. */
export function noted<H extends object>(handler: H, what: HandlerNotes): H {
  notes.set(handler, [what])
  return handler
}

/** The handler itself, remembered with all that is to be said of its parts. */
export function notedAs<H extends object>(handler: H, parts: readonly object[]): H {
  notes.set(handler, notesIn(parts))
  return handler
}

const notesIn = (handlers: readonly object[]) =>
  handlers.flatMap((handler) => notes.get(handler) ?? [])

/** What a use case refuses with, but for what every route with a key, and every one with a body or a query, notes itself. */
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
 * Stands first in a route and only describes it. With the use case that the route is for, all refusals of that must be named:
 * a new one does not compile until it is documented.
 */
export const describeRoute = <UseCase = undefined>(
  what: RouteNotes & Refusals<UseCase>,
): MiddlewareHandler =>
  noted((_, next) => next(), { ...what, errors: [...(what.errors ?? []), ...kindsIn(what)] })

const kindsIn = ({ refusals = {} }: RouteNotes) => Object.keys(refusals) as HttpError['kind'][]

/** Everything that the handlers of one route say, or undefined if nobody describes it. */
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
