import { expect, it } from 'vitest'
import { callTool, connect } from '../../../endpoint-mcp/test/scene.js'
import { API_KEY, realServer } from './real-server.js'

const AGENTS = `export default {
  payer: async ({ message, ask }) => 'paid ' + message + ': ' + (await ask('Pay ' + message + '?')),
}`
const ENV = { SERVICE_ENDPOINTS: 'mcp' }

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
