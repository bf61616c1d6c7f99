// Calls the example tools with the client of MCP Tasks, which polls tasks and answers questions.
// node main.mjs <url of the endpoint>
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
} from '@modelcontextprotocol/ext-tasks/client'

const [, , url] = process.argv
const protocolVersion = '2026-07-28'
const clientInfo = { name: 'tasks-client', version: '1' }
const capabilities = { elicitation: { form: {} } }

/** The package for Node sends no requests of Tasks. */
async function rawDispatch(request) {
  const { method, params } = request
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': protocolVersion,
      'mcp-method': method,
      'mcp-name': params.taskId ?? params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
  })
  const { error, result } = await response.json()
  return error ? { kind: 'error', error } : { kind: 'result', result }
}

const versionNegotiation = { mode: { pin: protocolVersion } }
const client = new Client(clientInfo, { capabilities, versionNegotiation })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
const asked = []
const session = createTaskSessionFromClient(client, {
  endpointId: 'example',
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: capabilities },
  onInputRequest: async ({ params }) => {
    asked.push(params.message)
    return { action: 'accept', content: { confirm: true } }
  },
})

/** Calls a tool, and waits for the end of its task. */
async function call(name, args) {
  const execution = await session.callTool(name, args)
  assert.equal(execution.kind, 'task')
  const { outcome } = await execution.settle()
  return resultFromTaskOutcome(outcome)
}

const computed = await call('slow_compute', { seconds: 1 })
assert.equal(computed.structuredContent.response, 'Computed for 1 s')
const deleted = await call('confirm_delete', { filename: 'a.txt' })
assert.equal(deleted.structuredContent.response, 'Deleted a.txt')
assert.deepEqual(asked, ['Delete a.txt?'])
assert.equal((await call('failing_job', {})).isError, true)
const endless = await session.callTool('slow_compute', { seconds: 60 })
await endless.cancel()
assert.equal((await endless.settle()).outcome.status, 'cancelled')

await session.close()
await client.close()
console.log('The client of MCP Tasks reads, answers and cancels tasks.')
