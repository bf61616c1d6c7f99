import type { Context, TypedResponse } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { JSONParsed } from 'hono/utils/types'
import type { Env } from './env.js'

type AnswerHeaders = Readonly<Record<string, string>>
type JsonAnswer<T, S extends ContentfulStatusCode> = Response &
  TypedResponse<JSONParsed<T>, S, 'json'>

/**
 * A JSON answer with the headers that every answer has; none is for a cache, for it is private and it changes. Not `c.json`:
 * its Headers object costs a tenth of a request on Node, where a Response with a plain record is written as it is.
 */
export const reply = <T, S extends ContentfulStatusCode>(
  c: Context<Env>,
  status: S,
  body: T,
  headers?: AnswerHeaders,
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

export const replyEmpty = (c: Context<Env>) =>
  new Response(null, {
    status: 204,
    headers: { 'Cache-Control': 'no-store', 'X-Request-Id': c.get('requestId') },
  }) as Response & TypedResponse<null, 204, 'body'>

/** `path`, which starts with `/v1/` and a collection, under wherever the host has mounted the app: an agent may be called `v1`. */
export function located(c: Context<Env>, path: string): string {
  const collection = path.slice(0, path.indexOf('/', '/v1/'.length))
  return encodeURI(c.req.path.slice(0, c.req.path.lastIndexOf(collection))) + path
}
