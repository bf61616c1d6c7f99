import type { HttpError } from '@org/agent-messaging-http-kit'
import type { z } from 'zod'
import type { AnswerHeader, RequestHeader } from './headers.js'

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })

/** The roles of `projectKey` are permissions. The key must have one of them. */
export const securitySchemes = {
  projectKey: bearer(
    'An API key of the project (`amk_…`). Its role is the required permission. A platform key with ' +
      'this permission makes the same call below `/v1/projects/{id or externalId}` instead of `/v1`.',
  ),
  platformKey: bearer('A platform key (`amk_…`). Its role is the required permission.'),
  runToken: bearer('The token of one run (`amr_…`). A runtime gets it with the message.'),
  cronSecret: bearer('The `CRON_SECRET` of the operator.'),
  operatorKey: bearer('The `SERVICE_OPERATOR_KEY` of the operator.'),
  metricsToken: bearer('The metrics token of the operator.'),
} as const
export type SecurityScheme = keyof typeof securitySchemes

/** A success. Its body is JSON unless `mediaType` says otherwise. */
export type DescribedAnswer = {
  readonly description: string
  readonly body?: z.ZodType
  readonly mediaType?: string
  readonly headers?: readonly AnswerHeader[]
}

/** A check's part in the description of its routes: access, input and errors. */
type CheckNotes = {
  readonly security?: { readonly [Scheme in SecurityScheme]?: readonly string[] }
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly isBodyOptional?: boolean
  readonly errors?: readonly HttpError['kind'][]
}

/** The parts of a route's description that its checks do not add. */
export type RouteNotes = CheckNotes & {
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description?: string | undefined
  /** The methods of a route that is registered with `all`, each with the id of its operation. */
  readonly methods?: { readonly [method: string]: string } | undefined
  readonly requestHeaders?: readonly RequestHeader[] | undefined
  readonly answers: { readonly [status: number]: DescribedAnswer }
}

const notesByCheck = new WeakMap<object, CheckNotes>()
const notesByHandler = new WeakMap<object, RouteNotes>()

/** Attaches notes to a check, and returns it. The document describes the code that runs. */
export function annotated<Check extends object>(check: Check, notes: CheckNotes): Check {
  notesByCheck.set(check, notes)
  return check
}

/** Describes a route: its own notes, and the notes of its checks. */
export function describeHandler<Handler extends object>(
  handler: Handler,
  own: RouteNotes,
  checks: readonly object[],
): Handler {
  const all = [own, ...checks.flatMap((check) => notesByCheck.get(check) ?? [])]
  const errors = all.flatMap((notes) => notes.errors ?? [])
  notesByHandler.set(handler, { ...Object.assign({}, ...all), ...own, errors })
  return handler
}

/** Returns undefined for a handler that is not part of the documented API. */
export const notesOf = (handler: object): RouteNotes | undefined => notesByHandler.get(handler)
