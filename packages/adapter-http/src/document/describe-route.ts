import type { MiddlewareHandler } from 'hono'
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
  readonly answers: { readonly [status: number]: DescribedAnswer }
}

const notes = new WeakMap<object, HandlerNotes | RouteNotes>()

/** The handler itself, remembered with what the OpenAPI document is to say of it. So what is documented is what runs. */
export function noted<H extends object>(handler: H, what: HandlerNotes): H {
  notes.set(handler, what)
  return handler
}

/** Stands first in a route and only describes it. */
export const describeRoute = (what: RouteNotes): MiddlewareHandler => noted((_, next) => next(), what)

/** Everything that the handlers of one route say, or undefined if nobody describes it. */
export function notesOf(handlers: readonly object[]): RouteNotes | undefined {
  const all = handlers.flatMap((handler) => notes.get(handler) ?? [])
  const described = all.find((one): one is RouteNotes => 'operationId' in one)
  return described && { ...Object.assign({}, ...all), ...described, errors: all.flatMap(({ errors = [] }) => errors) }
}
