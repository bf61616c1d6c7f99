import { expect, it, vi } from 'vitest'
import { exampleServer, KEY } from '../../scripts/example-server.mjs'

it('the official client gets answers of an agent', async () => {
  const { server, api } = await exampleServer({ endpoints: ['mcp'] })
  const runtime = { kind: 'function', handler: 'echo' }
  await api('POST', '/v1/agents', { name: 'echo', runtime })
  vi.stubEnv('BASE_URL', server.url)
  vi.stubEnv('KEY', KEY)
  const log = vi.spyOn(console, 'log').mockReturnValue()
  try {
    await import('./ask.js')
    expect(log.mock.calls).toEqual([
      ['list_agents, send_message, get_message, answer_input, cancel_message'],
      ['responded', 'Where is my order?'],
    ])
  } finally {
    log.mockRestore()
    vi.unstubAllEnvs()
    await server.stop()
  }
})
