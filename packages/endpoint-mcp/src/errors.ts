import type { CallToolResult } from '@modelcontextprotocol/server'
import type { MessagingService } from '@org/agent-messaging-core'
import { jsonTextRule, retrySecondsOf, textOf } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ResultAsync } from 'neverthrow'
import type { Env } from './env.js'

type ErrorOf<F> = F extends (...input: never[]) => ResultAsync<unknown, infer E> ? E : never

/** The errors of the use cases behind the tools, read off their signatures. */
export type ToolError =
  | ErrorOf<MessagingService['messages']['send']>
  | ErrorOf<MessagingService['messages']['get']>
  | ErrorOf<MessagingService['inputs']['answer']>
  | ErrorOf<MessagingService['agents']['list']>
  | { readonly kind: 'request_state_invalid' }

/** A request that is refused before MCP reads it. */
export type HttpError =
  | ErrorOf<MessagingService['keys']['authenticate']>
  | { readonly kind: 'body_too_large'; readonly maxBytes: number }
  | {
      readonly kind:
        | 'batch_refused'
        | 'body_malformed'
        | 'ids_repeated'
        | 'no_tools'
        | 'origin_refused'
        | 'method_refused'
        | 'route_not_found'
        | 'internal'
    }

const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`

/** The text of every refusal of a tool. A model reads it, so it says what to do. */
const texts: {
  readonly [K in ToolError['kind']]: (error: ToolError & { kind: K }) => string
} = {
  invalid: ({ issues }) => issues.map(({ path, message }) => `${path} ${message}`).join('; '),
  end_user_id_required: () => 'The agent runs on behalf of an end user. Send endUserId',
  principal_invalid: ({ reason }) => `endUserId is invalid: ${reason}`,
  unauthorized: () => 'The API key is revoked',
  agent_not_found: () => 'The project has no agent with this name or id. list_agents lists them',
  agent_not_running: ({ state, retryInMs }) =>
    `The agent is not running: its state is ${state}. ` +
    (retryInMs === undefined ? 'A person must start it' : `Try again in ${seconds(retryInMs)}`),
  message_not_found: () => 'The agent has no message with this id',
  idempotency_mismatch: () => 'idempotencyKey was already used with a different message',
  session_full: () => 'Too many messages of this session are waiting. Try again later',
  rate_limited: ({ levels }) =>
    'The limit of messages is reached. ' +
    `Try again in ${seconds(Math.max(...levels.map(({ retryInMs }) => retryInMs)))}`,
  input_not_found: () => 'The message has no question with this id',
  input_closed: () =>
    'The question has another answer, or is closed. get_message shows the message',
  input_restricted: () =>
    'Only the end user of the message can answer. Send the endUserId of the message',
  request_state_invalid: () => 'requestState was not created by this server',
  unavailable: textOf,
}

/** Returns the result of a tool that did nothing. */
export function refusal(error: ToolError): CallToolResult {
  // TypeScript cannot see that each entry gets an error of the matching kind.
  const describe = texts[error.kind] as (error: ToolError) => string
  return { content: [{ type: 'text', text: `${error.kind}: ${describe(error)}` }], isError: true }
}

type Refusal = {
  readonly status: ContentfulStatusCode
  /** The code of JSON-RPC. */
  readonly code: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const SERVER_ERROR = -32_000
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603

const refusals: {
  readonly [K in HttpError['kind']]: (error: HttpError & { kind: K }) => Refusal
} = {
  unauthorized: () => ({
    status: 401,
    code: SERVER_ERROR,
    message: 'Send a valid API key of the project as Authorization: Bearer …',
    headers: { 'WWW-Authenticate': 'Bearer' },
  }),
  no_tools: () => ({
    status: 403,
    code: SERVER_ERROR,
    message: 'The API key needs the permission project:message or project:agents',
  }),
  origin_refused: () => ({
    status: 403,
    code: SERVER_ERROR,
    message: 'Web pages of this Origin cannot call the route',
  }),
  route_not_found: () => ({
    status: 404,
    code: SERVER_ERROR,
    message: 'The route of MCP is POST /mcp',
  }),
  method_refused: () => ({
    status: 405,
    code: SERVER_ERROR,
    message: 'The server has no sessions and opens no streams. Use POST',
    headers: { Allow: 'POST' },
  }),
  body_malformed: () => ({
    status: 400,
    code: PARSE_ERROR,
    message: `The body must be JSON with ${jsonTextRule}`,
  }),
  batch_refused: () => ({
    status: 400,
    code: INVALID_REQUEST,
    message: 'This revision of MCP has no batches. Send one request at a time',
  }),
  ids_repeated: () => ({
    status: 400,
    code: INVALID_REQUEST,
    message: 'Two requests of the batch have the same id',
  }),
  body_too_large: ({ maxBytes }) => ({
    status: 413,
    code: SERVER_ERROR,
    message: `The body must have at most ${maxBytes} bytes`,
  }),
  unavailable: (error) => ({
    status: 503,
    code: SERVER_ERROR,
    message: textOf(error),
    headers: { 'Retry-After': String(retrySecondsOf(error)) },
  }),
  internal: () => ({
    status: 500,
    code: INTERNAL_ERROR,
    message: 'The service failed unexpectedly',
  }),
}

/** Answers with an error of JSON-RPC. */
export function refuse(c: Context<Env>, error: HttpError): Response {
  // TypeScript cannot see that each entry gets an error of the matching kind.
  const describe = refusals[error.kind] as (error: HttpError) => Refusal
  const { status, code, message, headers } = describe(error)
  const body = { jsonrpc: '2.0', id: null, error: { code, message } }
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}
