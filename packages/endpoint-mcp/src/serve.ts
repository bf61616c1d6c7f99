import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { failure } from './errors.js'
import type { Call } from './message-tools.js'
import type { Deps } from './options.js'
import { toolsFor } from './tools.js'

/**
 * Answers one request of MCP. Revision 2026-07-28 has no sessions. Requests of earlier revisions
 * are answered without a session too, so any process can serve any request.
 */
export async function serveMcp(
  request: Request,
  body: unknown,
  d: Deps,
  call: Call,
  onError: (error: unknown) => void,
): Promise<Response> {
  const options = { parsedBody: body }
  if (!(await isLegacyRequest(request, body))) {
    // The tools never change, so a subscription is acknowledged without any notification, and ends.
    const handler = createMcpHandler(() => toolServer(d, call, onError), { legacy: 'reject' })
    return handler.fetch(request, options)
  }
  const server = toolServer(d, call, onError)
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
function toolServer(d: Deps, call: Call, onError: (error: unknown) => void): Server {
  const tools = toolsFor(d, call.requester)
  const server = new Server(INFO, OPTIONS)
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ listed }) => listed) }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = tools.find(({ listed }) => listed.name === params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, noTool(params.name))
    try {
      return await tool.run(d, call, params.arguments, mcpReq)
    } catch (error) {
      onError(error)
      return failure('internal: The service failed unexpectedly')
    }
  })
  return server
}

const noTool = (name: string): string => `Tool ${name} not found`
