import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { failure } from './errors.js'
import { serveTasks, takesTasks, TASKS_CAPABILITY, tasksMissing, type Tasks } from './tasks.js'
import type { CallerTool } from './tools.js'

/** What one caller can use. */
export type Offer = { readonly tools: readonly CallerTool[]; readonly tasks: Tasks }
type OnError = (error: unknown) => void

/**
 * Answers one request of MCP. Revision 2026-07-28 has no sessions. Requests of earlier revisions
 * are answered without a session too, so any process can serve any request.
 */
export async function serveMcp(
  request: Request,
  body: unknown,
  offer: Offer,
  onError: OnError,
): Promise<Response> {
  const options = { parsedBody: body }
  if (!(await isLegacyRequest(request, body))) {
    // The tools never change, so a subscription is acknowledged without any notification, and ends.
    const handler = createMcpHandler(() => taskServer(offer, onError), { legacy: 'reject' })
    return refusalOfListen(body) ?? handler.fetch(request, options)
  }
  const server = toolServer(offer, onError)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, options)
  } finally {
    await server.close()
  }
}

const INFO = { name: 'agent-messaging', version: '1' }
const INSTRUCTIONS =
  'Agents of a messaging service. list_agents names them. send_message sends a text and waits for ' +
  'the answer for a bounded time. If the state is not final, call get_message later: the agent ' +
  'continues. If the state is input_required, ask your user and call answer_input.'
const OPTIONS = { capabilities: { tools: { listChanged: false } }, instructions: INSTRUCTIONS }

/**
 * Creates the MCP server of one request, with the tools that the API key can use. An exception of a
 * tool becomes a result that says nothing of its reason.
 */
function toolServer({ tools }: Offer, onError: OnError): Server {
  const server = new Server(INFO, OPTIONS)
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ listed }) => listed) }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = tools.find(({ listed }) => listed.name === params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, noTool(params.name))
    try {
      return await tool.run(params.arguments, mcpReq)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      onError(error)
      return failure('internal: The service failed unexpectedly')
    }
  })
  return server
}

/** Earlier revisions have other tasks. */
function taskServer(offer: Offer, onError: OnError): Server {
  const server = toolServer(offer, onError)
  server.registerCapabilities(TASKS_CAPABILITY)
  serveTasks(server, offer.tasks, onError)
  return server
}

const noTool = (name: string): string => `Tool ${name} not found`

/** The SDK ignores the tasks of a subscription. The extension refuses clients without it. */
function refusalOfListen(body: unknown): Response | undefined {
  const { id = null, method, params } = isJsonObject(body) ? body : {}
  const { _meta: envelope, notifications } = isJsonObject(params) ? params : {}
  const namesTasks = isJsonObject(notifications) && 'taskIds' in notifications
  const isAllowed = !isJsonObject(envelope) || takesTasks({ envelope })
  if (method !== 'subscriptions/listen' || !namesTasks || isAllowed) return undefined
  const { code, message, data } = tasksMissing()
  return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } }, { status: 400 })
}
