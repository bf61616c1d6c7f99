import { toRestErrorBody } from '@a2a-js/sdk/errors'
import { reply, refusalHeaders } from '@org/agent-messaging-http-kit'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { RouteContext } from './env.js'
import { Refusal } from './errors.js'

const STATUS_NAMES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

/** Returns the body of an error over HTTP, as A2A describes it. */
export function errorBody(error: unknown, status: number) {
  const body = toRestErrorBody(error, status)
  const name = STATUS_NAMES[status]
  return name === undefined ? body : { error: { ...body.error, status: name } }
}

/** Headers that explain an error. */
export function errorHeaders(error: unknown): Record<string, string> {
  if (!(error instanceof Refusal)) return {}
  const { statusCode, retryAfterSeconds } = error
  return refusalHeaders({ status: statusCode, retryAfterSeconds })
}

/** Answers with an error that has its own status. */
export const refuse = (c: RouteContext, error: unknown, status: number): Response =>
  reply(c, status as ContentfulStatusCode, errorBody(error, status), errorHeaders(error))
