import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Call } from './message-tools.js'
import type { Deps } from './options.js'
import { toolServer } from './tool-server.js'

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
