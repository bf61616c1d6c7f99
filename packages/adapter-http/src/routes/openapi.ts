import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import type { RouterRoute } from 'hono/types'
import { type Documented, openApiDocument } from '../document/document.js'
import { type JsonSchema, schemaWriter } from '../document/json-schema.js'
import type { Env, RouteContext } from '../env.js'
import { refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { basePathOf } from '../path-id.js'
import { referencePage, style } from '../reference/page.js'
import type { Document } from '../reference/shapes.js'
import { eventSchemas } from '../wire/event.js'

/**
 * Serves the app's own documentation, made at the first request from the routes of the app. These
 * routes are not part of the documented API.
 */
export const openApiRoutes = (
  { service, basePath }: HttpDeps,
  routes: () => readonly RouterRoute[],
) => {
  const document = once(() => openApiDocument(routes(), documentedOf(service)))
  // Relative links, so that a browser resolves them against the page's public address.
  const page = once(async (): Promise<string> =>
    referencePage(document() as unknown as Document, {
      style: 'docs/style.css',
      source: 'openapi.json',
    }),
  )
  const schemas = once(eventJsonSchemas)
  return new Hono<Env>()
    .get('/openapi.json', withEtag, (c) => {
      const url = basePathOf(c, { basePath, route: '/openapi.json' }) || '/'
      const { webhooks, ...rest } = document()
      const shown = c.req.query('webhooks') === 'false' ? rest : { ...rest, webhooks }
      return reply(c, 200, { ...shown, servers: [{ url }] }, { 'Cache-Control': 'no-cache' })
    })
    .get('/docs', withEtag, async (c) => replyText(c, 'text/html; charset=utf-8', await page()))
    .get('/docs/style.css', withEtag, (c) => replyText(c, 'text/css; charset=utf-8', style))
    .get('/schemas/events/:file', withEtag, (c) => {
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

const replyText = (c: RouteContext, contentType: string, text: string) =>
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

const documentedOf = ({ policy, host }: HttpDeps['service']): Documented => ({
  headerPrefix: policy.headerPrefix,
  runtimeKinds: host.runtimeKinds(),
})

/** Returns a self-contained JSON Schema for each event. */
const eventJsonSchemas = (): ReadonlyMap<string, JsonSchema> =>
  new Map(
    eventSchemas.map(({ name, id, schema }) => {
      const { write, components } = schemaWriter()
      write(schema, 'output')
      const { [id]: event, ...others } = components
      const whole = {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: name,
        ...event,
        $defs: others,
      }
      return [
        name,
        JSON.parse(
          JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/'),
        ) as JsonSchema,
      ]
    }),
  )
