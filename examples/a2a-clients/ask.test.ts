import { expect, it, vi } from 'vitest'
import { exampleServer, KEY } from '../../scripts/example-server.mjs'

it('the official client gets answers of an agent', async () => {
  const { server, api } = await exampleServer({ endpoints: ['a2a'] })
  const runtime = { kind: 'function', handler: 'echo' }
  await api('POST', '/v1/agents', { name: 'echo', runtime, a2a: { enabled: true } })
  vi.stubEnv('BASE_URL', server.url)
  vi.stubEnv('KEY', KEY)
  const log = vi.spyOn(console, 'log').mockReturnValue()
  try {
    await import('./ask.js')
    const [first, ...streamed] = log.mock.calls
    expect(first).toEqual(['Where is my order?'])
    // A quick answer can be ready before the stream starts.
    expect(
      streamed
        .flat()
        .filter((word) => word !== 'task' && word !== 'piece')
        .join(''),
    ).toBe('Thanks')
  } finally {
    log.mockRestore()
    vi.unstubAllEnvs()
    await server.stop()
  }
})
