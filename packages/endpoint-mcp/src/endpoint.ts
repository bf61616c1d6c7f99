import { localhostAllowedOrigins, originValidationResponse } from '@modelcontextprotocol/server'
import { isJsonObject, jsonTextRule, parseJsonText } from '@org/agent-messaging-core/runtime'
import {
  allowAccess,
  exchange,
  readBytes,
  senderOf,
  withDefaults,
  type KitEnv,
} from '@org/agent-messaging-http-kit'
import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { refuse } from './errors.js'
import type { Deps, McpEndpointOptions } from './options.js'
import { MessageTasks, type Call } from './message-tasks.js'
import { serveMcp, type Offer } from './serve.js'
import { SEND_MESSAGE, toolsFor } from './tools.js'

const ROOT = '/mcp'
/** The revision of MCP that the SDK assumes if a request names none. */
const LAST_WITH_BATCHES = '2025-03-26'
type Env = { Variables: KitEnv['Variables'] & { body?: Uint8Array } }

/** A call that every caller can make. Each tool has its own. */
const ANY_TOOL = 'messages.get'

const NOT_JSON = { kind: 'body_malformed', reason: `must be JSON with ${jsonTextRule}` } as const

/**
 * Creates the route `/mcp`, for clients of MCP. Serve its `fetch`, or mount the app in a Hono app
 * with `host.route('/', createMcpEndpoint(…))`.
 */
export const createMcpEndpoint = (options: McpEndpointOptions): Hono =>
  endpointOf(options, (d, call) => ({
    tools: toolsFor(d, call),
    tasks: new MessageTasks(d, call),
  }))

type OfferTo = (d: Deps, call: Call) => Offer

/** Creates the route with the tools and tasks of `offerTo`. */
export function endpointOf(options: McpEndpointOptions, offerTo: OfferTo): Hono {
  const d = withDefaults(options)
  const app = new Hono<Env>()
  app.onError((error, c) => {
    d.onError?.(error, c.get('requestId'))
    return refuse(c, { kind: 'internal' })
  })
  app.notFound((c) => refuse(c, { kind: 'route_not_found' }))
  app
    .use(ROOT, exchange(d), addHeaders, refuseOtherOrigins(d))
    .use(ROOT, readBody(d))
    .post(
      ROOT,
      allowAccess(d, { recalls: true, call: ANY_TOOL, anyPermission: true }, refuse),
      (c) => answerPost(c, d, offerTo),
    )
    .all(ROOT, (c) => refuse(c, { kind: 'method_not_allowed', allow: ['POST'] }))
  // A host does not see the variables of the routes.
  return app as unknown as Hono
}

/** The SDK makes most answers, without the headers that every answer has. */
const addHeaders: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  const isStream = c.res.headers.get('content-type')?.startsWith('text/event-stream')
  c.res.headers.set('Cache-Control', isStream ? 'no-store, no-transform' : 'no-store')
  c.res.headers.set('x-request-id', c.get('requestId'))
}

/** Refuses pages of other origins, as MCP asks. Programs send no `Origin`. */
const refuseOtherOrigins =
  ({ publicUrl, corsOrigins = [] }: Deps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const origin = c.req.header('origin')
    if (origin === undefined || corsOrigins.includes(origin)) return next()
    const url = publicUrl?.()
    const own = url === undefined ? [] : [new URL(url).hostname]
    const allowed = [...localhostAllowedOrigins(), ...own]
    return originValidationResponse(c.req.raw, allowed)
      ? refuse(c, { kind: 'origin_refused' })
      : next()
  }

/** Refuses a body that is too long, before the key is read. */
const readBody =
  ({ maxBodyBytes }: Deps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const bytes = await readBytes(c, maxBodyBytes)
    if (bytes instanceof Uint8Array) c.set('body', bytes)
    else if (bytes.kind === 'body_too_large') return refuse(c, bytes)
    return next()
  }

async function answerPost(c: Context<Env>, d: Deps, offerTo: OfferTo): Promise<Response> {
  const requester = c.get('requester')
  const body = bodyOf(c.get('body'))
  const problem = Array.isArray(body) ? batchProblem(c, body) : undefined
  if (problem) return refuse(c, (await requester.confirm()) ?? { kind: problem })
  const isSend = isJsonObject(body) && isSendRequest(body)
  const early = isSend ? undefined : await requester.confirm()
  if (early) return refuse(c, early)
  const offer = offerTo(d, { ...senderOf(c), requester })
  if (offer.tools.length === 0)
    return refuse(c, (await requester.confirm()) ?? { kind: 'no_tools' })
  const onError = (error: unknown) => d.onError?.(error, c.get('requestId'))
  const response =
    body === undefined ? refuse(c, NOT_JSON) : await serveMcp(c.req.raw, body, offer, onError)
  // The key of a send that stored nothing is possibly revoked. That refusal comes before others.
  const revoked = isSend ? await requester.confirm() : undefined
  return revoked ? refuse(c, revoked) : response
}

/** Returns undefined for a body that is not JSON. */
function bodyOf(bytes: Uint8Array | undefined): unknown {
  try {
    return parseJsonText(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** The SDK answers batches of all revisions, and only one of the requests with the same id. */
function batchProblem({ req }: Context<Env>, batch: readonly unknown[]) {
  const version = req.header('mcp-protocol-version')
  if (version !== undefined && version > LAST_WITH_BATCHES) return 'batch_refused'
  const ids = batch.flatMap((one) => (isJsonObject(one) && 'id' in one ? [one['id']] : []))
  return new Set(ids).size < ids.length ? 'ids_repeated' : undefined
}

const isSendRequest = ({ method, params }: Record<string, unknown>): boolean =>
  method === 'tools/call' && isJsonObject(params) && params['name'] === SEND_MESSAGE
