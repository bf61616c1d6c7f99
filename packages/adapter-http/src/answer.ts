import type { Context, TypedResponse } from 'hono'
import type { Env } from './env.js'

export const replyEmpty = (c: Context<Env>) =>
  new Response(null, {
    status: 204,
    headers: { 'Cache-Control': 'no-store', 'X-Request-Id': c.get('requestId') },
  }) as Response & TypedResponse<null, 204, 'body'>

/**
 * Returns the path under which callers reach the app: the `basePath` option, or else the part of
 * the request's path before `route`. The last match counts, because a host can mount the app
 * under a path that contains `route` too.
 */
export const basePathOf = (
  { req }: Context<Env>,
  { basePath, route }: { readonly basePath: string | undefined; readonly route: string },
): string => basePath ?? encodeURI(req.path.slice(0, req.path.lastIndexOf(route)))
