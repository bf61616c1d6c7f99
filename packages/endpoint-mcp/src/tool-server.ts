import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import { failure } from './errors.js'
import type { Call } from './message-tools.js'
import type { Deps } from './options.js'
import { toolsFor } from './tools.js'

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
export function toolServer(d: Deps, call: Call, onError: (error: unknown) => void): Server {
  const tools = toolsFor(call.access)
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
