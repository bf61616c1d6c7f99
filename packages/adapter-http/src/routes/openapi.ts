import { Hono, type Context } from 'hono'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import type { RouterRoute } from 'hono/types'
import { z } from 'zod'
import { basePathOf, reply } from '../answer.js'
import { describeRoute, type DescribedAnswer } from '../document/describe-route.js'
import { openApiDocument } from '../document/document.js'
import { eventJsonSchemas } from '../document/event-json-schemas.js'
import type { Env } from '../env.js'
import { refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { referencePage } from '../reference/page.js'
import type { Document } from '../reference/shapes.js'
import { style } from '../reference/style.js'

/** Serves the app's own documentation, made at the first request from the routes of the app. */
export const openApiRoutes = (
  { service, basePath }: HttpDeps,
  routes: () => readonly RouterRoute[],
) => {
  const document = once(() => openApiDocument(routes(), service.policy.headerPrefix))
  // Relative links, so that a browser resolves them against the page's public address.
  const page = once(async (): Promise<string> =>
    referencePage(document() as unknown as Document, {
      style: 'docs/style.css',
      source: 'openapi.json',
    }),
  )
  const schemas = once(eventJsonSchemas)
  return new Hono<Env>()
    .get('/openapi.json', about.document, withEtag, (c) => {
      const url = basePathOf(c, { basePath, route: '/openapi.json' }) || '/'
      return reply(c, 200, { ...document(), servers: [{ url }] }, { 'Cache-Control': 'no-cache' })
    })
    .get('/docs', about.page, withEtag, async (c) =>
      replyText(c, 'text/html; charset=utf-8', await page()),
    )
    .get('/docs/style.css', about.style, withEtag, (c) =>
      replyText(c, 'text/css; charset=utf-8', style),
    )
    .get('/schemas/events/:file', about.schema, withEtag, (c) => {
      const schema = schemas().get(c.req.param('file').replace(/\.json$/, ''))
      return schema
        ? replyText(c, 'application/schema+json', JSON.stringify(schema, null, 2))
        : refuse(c, { kind: 'event_not_found' })
    })
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/**
 * Answers 304 if the caller has a current copy. These documents are long and change with releases.
 */
const withEtag = etag({ retainedHeaders: [...RETAINED_304_HEADERS, 'X-Request-Id'] })

/** The pages have no scripts and no content from other hosts. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const replyText = (c: Context<Env>, contentType: string, text: string) =>
  new Response(text, {
    headers: {
      'Content-Type': contentType,
      'Cache-Control': 'no-cache',
      'X-Request-Id': c.get('requestId'),
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  })

const tag = 'Operations'

const cacheable = (answer: DescribedAnswer) =>
  ({
    requestHeaders: ['If-None-Match'],
    answers: {
      200: { ...answer, headers: ['ETag'] },
      304: { description: 'Your copy is current', headers: ['ETag'] },
    },
  }) as const

const about = {
  document: describeRoute({
    tag,
    operationId: 'getOpenApiDocument',
    summary: 'Read this document',
    ...cacheable({
      description: 'An OpenAPI 3.1 document',
      body: z.looseObject({ openapi: z.string() }),
    }),
  }),
  page: describeRoute({
    tag,
    operationId: 'getReference',
    summary: 'Read this document as a page',
    ...cacheable({
      description: 'A page without scripts',
      body: z.string(),
      mediaType: 'text/html',
    }),
  }),
  style: describeRoute({
    tag,
    operationId: 'getReferenceStyle',
    summary: 'Read the style sheet of that page',
    ...cacheable({ description: 'The style sheet', body: z.string(), mediaType: 'text/css' }),
  }),
  schema: describeRoute({
    tag,
    operationId: 'getEventSchema',
    summary: 'Read the JSON Schema of a webhook event',
    description: 'The schema is self-contained.',
    errors: ['event_not_found'],
    ...cacheable({
      description: 'JSON Schema 2020-12',
      body: z.looseObject({ $schema: z.string() }),
      mediaType: 'application/schema+json',
    }),
  }),
}
