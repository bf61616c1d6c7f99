import { Hono } from 'hono'
import type { RouterRoute } from 'hono/types'
import { z } from 'zod'
import { reply } from '../answer.js'
import { describeRoute } from '../document/describe-route.js'
import { openApiDocument } from '../document/document.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'

/** What the app says of itself. Made at the first request, of the routes that the app has by then. */
export const openApiRoutes = ({ service }: HttpDeps, routes: () => readonly RouterRoute[]) => {
  let document: ReturnType<typeof openApiDocument> | undefined
  return new Hono<Env>().get('/openapi.json', about.document, (c) => {
    document ??= openApiDocument(routes(), service.policy.headerPrefix)
    // Wherever the host has mounted the app.
    const url = c.req.path.slice(0, -'/openapi.json'.length) || '/'
    return reply(c, 200, { ...document, servers: [{ url }] })
  })
}

const about = {
  document: describeRoute({
    ...{ tag: 'Operations', operationId: 'getOpenApiDocument', summary: 'Read this document' },
    answers: { 200: { description: 'An OpenAPI 3.1 document', body: z.looseObject({ openapi: z.string() }) } },
  }),
}
