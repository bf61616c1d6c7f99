import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ServiceError } from '@org/agent-messaging-core'
import { entryFor, textOf, type ByKind } from '@org/agent-messaging-core/host'
import {
  codeByKind,
  refusalHeaders,
  refusalOf,
  type HttpError,
  type KitContext,
} from '@org/agent-messaging-http-kit'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`

/** Texts of refusals that name the arguments of the tools. A model reads them. */
const toolTexts: Partial<ByKind<ServiceError, string>> = {
  end_user_id_required: 'The agent runs on behalf of an end user. Send endUserId',
  principal_invalid: ({ reason }) => `endUserId is invalid: ${reason}`,
  unauthorized: 'The access of the caller has ended',
  agent_not_found: 'The project has no agent with this name or id. list_agents lists them',
  agent_not_running: ({ state, retryInMs }) =>
    `The agent is not running: its state is ${state}. ` +
    (retryInMs === undefined ? 'A person must start it' : `Try again in ${seconds(retryInMs)}`),
  message_not_found: 'The agent has no message with this id',
  idempotency_mismatch: 'idempotencyKey was already used with a different message',
  rate_limited: ({ levels }) =>
    'The limit is reached. ' +
    `Try again in ${seconds(Math.max(...levels.map(({ retryInMs }) => retryInMs)))}`,
  input_not_found: 'The message has no question with this id',
  input_closed: 'The question has another answer, or is closed. get_message shows the message',
  input_restricted:
    'Only the end user of the message can answer. Send the endUserId of the message',
}

/** Returns the result of a tool that did nothing. */
export const refusal = (error: ServiceError): CallToolResult => failure(refusalText(error))

export const refusalText = (error: ServiceError): string =>
  `${error.kind}: ${entryFor(toolTexts, error) ?? textOf(error)}`

export const failure = (text: string): CallToolResult => ({
  content: [{ type: 'text', text }],
  isError: true,
})

type OwnError = {
  readonly kind: 'batch_refused' | 'ids_repeated' | 'no_tools'
}
/** A request that is refused before MCP reads it. */
export type RefusedRequest = HttpError | OwnError

type Refusal = {
  readonly status: ContentfulStatusCode
  /** The code of JSON-RPC. Default: an error of the server. */
  readonly code?: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const SERVER_ERROR = -32_000
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603

const own: ByKind<OwnError, Refusal> = {
  no_tools: {
    status: 403,
    message: 'The caller needs the permission project:message, project:agents or project:read',
  },
  batch_refused: {
    status: 400,
    code: INVALID_REQUEST,
    message: 'This revision of MCP has no batches. Send one request at a time',
  },
  ids_repeated: {
    status: 400,
    code: INVALID_REQUEST,
    message: 'Two requests of the batch have the same id',
  },
}

/** What this endpoint says in other words than every protocol. */
const differences: Partial<ByKind<HttpError, Partial<Refusal>>> = {
  unauthorized: { message: 'Send a valid API key of the project as Authorization: Bearer …' },
  route_not_found: { message: 'The route of MCP is POST /mcp' },
  method_not_allowed: {
    message: 'The server has no sessions and opens no streams. Use POST',
    headers: { Allow: 'POST' },
  },
  body_malformed: { code: PARSE_ERROR },
  internal: { code: INTERNAL_ERROR },
}

/** Answers with an error of JSON-RPC. */
export function refuse(c: KitContext, error: RefusedRequest): Response {
  const { status, code = SERVER_ERROR, message, headers } = responseTo(error)
  const body = { jsonrpc: '2.0', id: null, error: { code, message } }
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

function responseTo(error: RefusedRequest): Refusal {
  if (isOwn(error)) return entryFor(own, error) as Refusal
  const common = refusalOf(error)
  const headers = refusalHeaders(common)
  const { status, message } = common
  return { status, message, headers, ...entryFor(differences, error) }
}

const isOwn = (error: RefusedRequest): error is OwnError => !Object.hasOwn(codeByKind, error.kind)
