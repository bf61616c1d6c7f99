import { expect, it } from 'vitest'
import { callTool, connect, modernRequest } from '../../../endpoint-mcp/test/scene.js'
import { SHORT_LEASES } from './endpoint-kills.js'
import { API_KEY, realServer, type RealServer } from './real-server.js'

const AGENTS = `import { setTimeout as sleep } from 'node:timers/promises'
export default {
  payer: async ({ message, ask }) => 'paid ' + message + ': ' + (await ask('Pay ' + message + '?')),
  late: async ({ message, ask }) => {
    await sleep(3_000)
    return 'paid ' + message + ': ' + (await ask('Pay ' + message + '?'))
  },
}`
const ENV = { SERVICE_ENDPOINTS: 'mcp', ...SHORT_LEASES }

it('a question is answered in forms at changing processes', async () => {
  const first = await realServer({ agents: AGENTS, env: ENV })
  const second = await realServer({ agents: AGENTS, env: ENV, beside: first })
  try {
    const runtime = { kind: 'function', handler: 'payer' }
    await first.api('POST', '/v1/agents', { name: 'payer', runtime, desiredState: 'running' })
    const urls = [first.url, second.url]
    let requests = 0
    const client = await connect(`${first.url}/mcp`, {
      key: API_KEY,
      era: 'modern',
      user: () => ({ value: 'yes' }),
      fetch: (_, init) => fetch(new URL('/mcp', urls[requests++ % urls.length]), init),
    })
    for (let n = 0; n < 10; n++) {
      const input = { agent: 'payer', message: `bill ${n}` }
      const { output } = await callTool(client, 'send_message', input)
      expect(output).toMatchObject({ response: `paid bill ${n}: yes` })
    }
    await client.close()
    const route = '/v1/agents/payer/messages?limit=100'
    const { data } = (await (await first.api('GET', route)).json()) as { data: unknown[] }
    expect(data).toHaveLength(10)
  } finally {
    await second.dispose()
    await first.dispose()
  }
})

it('a task goes on in another process, and survives kills', async () => {
  const first = await realServer({ agents: AGENTS, env: ENV })
  const second = await realServer({ agents: AGENTS, env: ENV, beside: first })
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  async function rpc({ url }: RealServer, method: string, params: object) {
    const { body, headers } = modernRequest(method, { ...params }, capabilities)
    const authorization = `Bearer ${API_KEY}`
    const init = { method: 'POST', headers: { ...headers, authorization } }
    const answer = await fetch(`${url}/mcp`, { ...init, body: JSON.stringify(body) })
    return ((await answer.json()) as { readonly result: Record<string, unknown> }).result
  }
  async function reach(server: RealServer, taskId: string, status: string) {
    const read = () => rpc(server, 'tasks/get', { taskId })
    await expect.poll(read, { timeout: 60_000 }).toMatchObject({ status })
  }
  try {
    const runtime = { kind: 'function', handler: 'late' }
    await first.api('POST', '/v1/agents', { name: 'late', runtime, desiredState: 'running' })
    const input = { name: 'send_message', arguments: { agent: 'late', message: 'bill' } }
    const { taskId } = (await rpc(first, 'tools/call', input)) as { readonly taskId: string }
    await first.kill('SIGKILL')
    await reach(second, taskId, 'input_required')
    const { inputRequests } = await rpc(second, 'tasks/get', { taskId })
    const [inputId = ''] = Object.keys(inputRequests as object)
    const inputResponses = { [inputId]: { action: 'accept', content: { value: 'yes' } } }
    await rpc(second, 'tasks/update', { taskId, inputResponses })
    await second.kill('SIGKILL')
    await first.start()
    await reach(first, taskId, 'completed')
    expect(await rpc(first, 'tasks/get', { taskId })).toMatchObject({
      result: { structuredContent: { state: 'responded', response: 'paid bill: yes' } },
    })
  } finally {
    await second.dispose()
    await first.dispose()
  }
})
