import type { TypedResponse } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { JSONParsed } from 'hono/utils/types'
import type { Exchanged } from './exchange.js'

export type JsonAnswer<T, S extends ContentfulStatusCode> = Response &
  TypedResponse<JSONParsed<T>, S, 'json'>

/**
 * Answers with JSON and the headers that every answer has. Caches must not store any answer.
 * `c.json` builds a `Headers` object, which costs a tenth of a request on Node. A plain record does
 * not.
 */
export const reply = <T, S extends ContentfulStatusCode>(
  c: Exchanged,
  status: S,
  body: T,
  headers?: Readonly<Record<string, string>>,
) =>
  new Response(JSON.stringify(body), {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Request-Id': c.get('requestId'),
      ...headers,
    },
  }) as JsonAnswer<T, S>

export const replyEmpty = (c: Exchanged): Response =>
  new Response(null, {
    status: 204,
    headers: { 'Cache-Control': 'no-store', 'X-Request-Id': c.get('requestId') },
  })
