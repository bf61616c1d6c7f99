import { toRestErrorBody } from '@a2a-js/sdk/errors'
import type { Context } from 'hono'
import type { Env } from './env.js'
import { Refusal } from './errors.js'

/** Answers with JSON. A plain record of headers is faster on Node than `c.json`. */
export const reply = (
  c: Context<Env>,
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'x-request-id': c.get('requestId'),
      ...headers,
    },
  })

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
  return {
    ...(statusCode === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
  }
}

/** Answers with an error that has its own status. */
export const refuse = (c: Context<Env>, error: unknown, status: number): Response =>
  reply(c, status, errorBody(error, status), errorHeaders(error))
