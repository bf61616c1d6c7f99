import { Hono, type Context } from 'hono'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import type { RouterRoute } from 'hono/types'
import { z } from 'zod'
import { reply } from '../answer.js'
import { describeRoute, type DescribedAnswer } from '../document/describe-route.js'
import { openApiDocument } from '../document/document.js'
import { eventJsonSchemas } from '../document/event-json-schemas.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { referencePage } from '../reference/page.js'
import type { Document } from '../reference/shapes.js'
import { style } from '../reference/style.js'

/** What the app says of itself. Made at the first request, of the routes that the app has by then. */
export const openApiRoutes = ({ service }: HttpDeps, routes: () => readonly RouterRoute[]) => {
  const document = once(() => openApiDocument(routes(), service.policy.headerPrefix))
  const page = once(async (): Promise<string> =>
    referencePage(document() as unknown as Document, {
      style: 'docs/style.css',
      source: 'openapi.json',
    }),
  )
  const schemas = once(eventJsonSchemas)
  return new Hono<Env>()
    .get('/openapi.json', about.document, revalidated, (c) => {
      // Wherever the host has mounted the app.
      const url = c.req.path.slice(0, -'/openapi.json'.length) || '/'
      return reply(c, 200, { ...document(), servers: [{ url }] }, { 'Cache-Control': 'no-cache' })
    })
    .get('/docs', about.page, revalidated, async (c) =>
      shown(c, 'text/html; charset=utf-8', await page()),
    )
    .get('/docs/style.css', about.style, revalidated, (c) =>
      shown(c, 'text/css; charset=utf-8', style),
    )
    .get('/schemas/events/:file', about.schema, revalidated, (c) => {
      const schema = schemas().get(c.req.param('file').replace(/\.json$/, ''))
      return schema
        ? shown(c, 'application/schema+json', JSON.stringify(schema, null, 2))
        : refuse(c, { kind: 'event_not_found' })
    })
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** Nothing of it changes before the next release, and it is long: who has it is told so, and is not sent it again. */
const revalidated = etag({ retainedHeaders: [...RETAINED_304_HEADERS, 'X-Request-Id'] })

/** Nothing on our pages runs, and nothing comes from elsewhere. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const shown = (c: Context<Env>, contentType: string, text: string) =>
  new Response(text, {
    headers: {
      ...{
        'Content-Type': contentType,
        'Cache-Control': 'no-cache',
        'X-Request-Id': c.get('requestId'),
      },
      ...{
        'Content-Security-Policy': CONTENT_SECURITY_POLICY,
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
      },
    },
  })

const tag = 'Operations'

/** With its tag the caller learns that it has not changed. */
const unlessKnown = (answer: DescribedAnswer) =>
  ({
    requestHeaders: ['If-None-Match'],
    answers: {
      200: { ...answer, headers: ['ETag'] },
      304: { description: 'It is what you have', headers: ['ETag'] },
    },
  }) as const

const about = {
  document: describeRoute({
    ...{ tag, operationId: 'getOpenApiDocument', summary: 'Read this document' },
    ...unlessKnown({
      description: 'An OpenAPI 3.1 document',
      body: z.looseObject({ openapi: z.string() }),
    }),
  }),
  page: describeRoute({
    ...{ tag, operationId: 'getReference', summary: 'Read this document as a page' },
    ...unlessKnown({
      description: 'A page without scripts',
      body: z.string(),
      mediaType: 'text/html',
    }),
  }),
  style: describeRoute({
    ...{ tag, operationId: 'getReferenceStyle', summary: 'What that page looks like' },
    ...unlessKnown({ description: 'Its style sheet', body: z.string(), mediaType: 'text/css' }),
  }),
  schema: describeRoute({
    ...{ tag, operationId: 'getEventSchema', summary: 'Read the JSON Schema of a webhook event' },
    description: 'Whole in itself: what it refers to is in it.',
    errors: ['event_not_found'],
    ...unlessKnown({
      ...{
        description: 'JSON Schema 2020-12',
        body: z.looseObject({ $schema: z.string() }),
        mediaType: 'application/schema+json',
      },
    }),
  }),
}
