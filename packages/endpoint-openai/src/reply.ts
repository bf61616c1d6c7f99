import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Env } from './env.js'

/** Answers with JSON. A plain record of headers is faster on Node than `c.json`. */
export const reply = (
  c: Context<Env>,
  status: ContentfulStatusCode,
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
