import { randomUUID } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const url = new URL('/mcp', process.env['BASE_URL'] ?? 'http://127.0.0.1:3000')
const headers = { Authorization: `Bearer ${process.env['KEY'] ?? ''}` }
// `auto` uses the revision 2026-07-28, and an older one with older servers.
const options = { versionNegotiation: { mode: 'auto' as const } }
const client = new Client({ name: 'docs', version: '1.0.0' }, options)
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))

const { tools } = await client.listTools()
console.log(tools.map(({ name }) => name).join(', '))

const message = 'Where is my order?'
const input = { agent: 'echo', message, idempotencyKey: randomUUID() }
const { structuredContent } = await client.callTool({ name: 'send_message', arguments: input })
const { state, response } = structuredContent as { state: string; response?: string }
console.log(state, response)
await client.close()
