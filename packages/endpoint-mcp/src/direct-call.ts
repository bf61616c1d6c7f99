import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server'
import type { Context } from 'hono'
import { z } from 'zod'
import type { Call } from './call.js'
import type { Env } from './env.js'
import type { Deps } from './options.js'
import { callTool, INFO } from './tool-server.js'
import { toolsFor } from './tools.js'

const MODERN = '2026-07-28'
const LEGACY: ReadonlySet<string | undefined> = new Set(['2025-11-25', '2025-06-18', '2025-03-26'])
const METHOD = 'tools/call'

const params = { name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() }
const callOf = <P extends z.ZodType>(of: P) =>
  z.strictObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]),
    method: z.literal(METHOD),
    params: of,
  })
const legacyCall = callOf(z.strictObject({ ...params, _meta: z.undefined().optional() }))
const modernCall = callOf(
  z.strictObject({
    ...params,
    _meta: z.strictObject({
      [PROTOCOL_VERSION_META_KEY]: z.literal(MODERN),
      [CLIENT_INFO_META_KEY]: z
        .strictObject({ name: z.string(), version: z.string(), title: z.string().optional() })
        .optional(),
      [CLIENT_CAPABILITIES_META_KEY]: z.strictObject({
        elicitation: z.strictObject({ form: z.strictObject({}).optional() }).optional(),
      }),
    }),
  }),
)

/**
 * Answers a tool call of the usual form without the SDK, which makes a server, a transport and a
 * native `Request` for each call. The answer is the same. Returns undefined for other requests.
 */
export async function answerDirectly(
  c: Context<Env>,
  body: unknown,
  d: Deps,
  call: Call,
  onError: (error: unknown) => void,
): Promise<Response | undefined> {
  const found = isUsual(c) ? (readModern(c, body) ?? readLegacy(c, body)) : undefined
  if (!found) return undefined
  const { name, arguments: args, _meta: envelope } = found.params
  const tool = toolsFor(call).find(({ listed }) => listed.name === name)
  if (!tool) return undefined
  const ctx = { requestState: () => undefined, ...(envelope && { envelope }) }
  const outcome = await callTool(tool, args, { d, call, ctx, onError })
  const result = envelope
    ? { resultType: 'complete', ...outcome, _meta: { [SERVER_INFO_META_KEY]: INFO } }
    : outcome
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: found.id, result }), {
    headers: { 'Content-Type': 'application/json' },
  })
}

function isUsual({ req }: Context<Env>): boolean {
  const accepted = req.header('accept') ?? ''
  return (
    req.header('content-type') === 'application/json' &&
    accepted.includes('application/json') &&
    accepted.includes('text/event-stream') &&
    req.header('mcp-session-id') === undefined
  )
}

const readLegacy = ({ req }: Context<Env>, body: unknown) =>
  LEGACY.has(req.header('mcp-protocol-version')) ? legacyCall.safeParse(body).data : undefined

function readModern({ req }: Context<Env>, body: unknown) {
  const isModern =
    req.header('mcp-protocol-version') === MODERN && req.header('mcp-method') === METHOD
  const found = isModern ? modernCall.safeParse(body).data : undefined
  return found?.params.name === req.header('mcp-name') ? found : undefined
}
