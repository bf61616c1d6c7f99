import { localhostAllowedOrigins, originValidationResponse } from '@modelcontextprotocol/server'
import { isJsonObject, jsonTextRule, parseJsonText } from '@org/agent-messaging-core/runtime'
import {
  Caller,
  exchange,
  withDefaults,
  type KitEnv,
  byApiKey,
  refusalOfAccess,
  type Access,
} from '@org/agent-messaging-http-kit'
import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Call } from './call.js'
import { refuse } from './errors.js'
import type { Deps, McpEndpointOptions } from './options.js'
import { serveMcp } from './serve.js'
import { SEND_MESSAGE } from './tools.js'

const ROOT = '/mcp'
/** The revision of MCP that the SDK assumes if a request names none. */
const LAST_WITH_BATCHES = '2025-03-26'
const NOT_JSON = { kind: 'body_malformed', reason: `must be JSON with ${jsonTextRule}` } as const

/**
 * Creates the route `/mcp`, for clients of MCP. Serve its `fetch`, or mount the app in a Hono app
 * with `host.route('/', createMcpEndpoint(…))`.
 */
export function createMcpEndpoint(options: McpEndpointOptions): Hono {
  const d = withDefaults(options)
  const app = new Hono<KitEnv>()
  app.onError((error, c) => {
    d.onError?.(error, c.get('requestId'))
    return refuse(c, { kind: 'internal' })
  })
  app.notFound((c) => refuse(c, { kind: 'route_not_found' }))
  app
    .use(ROOT, exchange(d), addHeaders, refuseOtherOrigins(d))
    .use(ROOT, limitBody(d.maxBodyBytes))
    .post(ROOT, (c) => answerPost(c, d))
    .all(ROOT, (c) => refuse(c, { kind: 'method_not_allowed', allow: ['POST'] }))
  // A host does not see the variables of the routes.
  return app as unknown as Hono
}

/** The SDK makes most answers, without the headers that every answer has. */
const addHeaders: MiddlewareHandler<KitEnv> = async (c, next) => {
  await next()
  c.res.headers.set('Cache-Control', 'no-store')
  c.res.headers.set('x-request-id', c.get('requestId'))
}

/** Refuses pages of other origins, as MCP asks. Programs send no `Origin`. */
const refuseOtherOrigins =
  ({ publicUrl }: Deps): MiddlewareHandler<KitEnv> =>
  async (c, next) => {
    if (c.req.header('origin') === undefined) return next()
    const url = publicUrl?.()
    const own = url === undefined ? [] : [new URL(url).hostname]
    const allowed = [...localhostAllowedOrigins(), ...own]
    return originValidationResponse(c.req.raw, allowed)
      ? refuse(c, { kind: 'origin_refused' })
      : next()
  }

/** `bodyLimit` reads the body from a stream. Bodies of a known length are read without one. */
function limitBody(maxBytes: number): MiddlewareHandler<KitEnv> {
  const tooLarge = (c: Context<KitEnv>) => refuse(c, { kind: 'body_too_large', maxBytes })
  const limit = bodyLimit({ maxSize: maxBytes, onError: tooLarge })
  return (c, next) => {
    const length = c.req.header('content-length')
    if (length === undefined) return limit(c, next)
    return Number(length) > maxBytes ? Promise.resolve(tooLarge(c)) : next()
  }
}

async function answerPost(c: Context<KitEnv>, d: Deps): Promise<Response> {
  const refusal = await refusalOfAccess(c, byApiKey(d.service.keys), { recalls: true })
  if (refusal) return refuse(c, refusal)
  const access = c.get('access')
  const call = callOf(c, access)
  const body = await bodyOf(c)
  const problem = Array.isArray(body) ? batchProblem(c, body) : undefined
  if (problem) return refuse(c, (await access.confirm()) ?? { kind: problem })
  const isSend = isJsonObject(body) && isSendRequest(body)
  const early = isSend ? undefined : await access.confirm()
  if (early) return refuse(c, early)
  if (!mayCallTools(call)) return refuse(c, (await access.confirm()) ?? { kind: 'no_tools' })
  const onError = (error: unknown) => d.onError?.(error, c.get('requestId'))
  const response =
    body === undefined ? refuse(c, NOT_JSON) : await serveMcp(c.req.raw, body, d, call, onError)
  if (!isSend || call.isKeySettled) return response
  // The key of a send that stored nothing is possibly revoked. That refusal comes before others.
  const revoked = await access.confirm()
  return revoked ? refuse(c, revoked) : response
}

const callOf = (c: Context<KitEnv>, { projectId, permissions, actor, sentBy }: Access): Call => ({
  projectId,
  permissions,
  actor,
  sentBy,
  caller: new Caller(c),
  traceparent: c.req.header('traceparent'),
  tracestate: c.req.header('tracestate'),
  isKeySettled: false,
})

async function bodyOf(c: Context<KitEnv>): Promise<unknown> {
  try {
    return parseJsonText(await c.req.text())
  } catch {
    return undefined
  }
}

/** The SDK answers batches of all revisions, and only one of the requests with the same id. */
function batchProblem({ req }: Context<KitEnv>, batch: readonly unknown[]) {
  const version = req.header('mcp-protocol-version')
  if (version !== undefined && version > LAST_WITH_BATCHES) return 'batch_refused'
  const ids = batch.flatMap((one) => (isJsonObject(one) && 'id' in one ? [one['id']] : []))
  return new Set(ids).size < ids.length ? 'ids_repeated' : undefined
}

const isSendRequest = ({ method, params }: Record<string, unknown>): boolean =>
  method === 'tools/call' && isJsonObject(params) && params['name'] === SEND_MESSAGE

const mayCallTools = ({ permissions }: Call): boolean =>
  permissions.includes('project:message') || permissions.includes('project:agents')
