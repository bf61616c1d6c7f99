import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { exampleServer, KEY } from '../../scripts/example-server.mjs'

let example: Awaited<ReturnType<typeof exampleServer>>
beforeAll(async () => {
  example = await exampleServer()
  const runtime = { kind: 'function', handler: 'echo' }
  await example.api('POST', '/v1/agents', { name: 'echo', runtime })
  vi.stubEnv('BASE_URL', example.server.url)
  vi.stubEnv('KEY', KEY)
})
afterAll(() => {
  vi.unstubAllEnvs()
  return example.server.stop()
})

/** Runs a program of this folder. Returns the lines that it prints. */
async function printedBy(load: () => Promise<unknown>): Promise<unknown[][]> {
  const log = vi.spyOn(console, 'log').mockReturnValue()
  const error = vi.spyOn(console, 'error').mockReturnValue()
  try {
    await load()
    return [...log.mock.calls, ...error.mock.calls]
  } finally {
    log.mockRestore()
    error.mockRestore()
  }
}

describe('the programs of docs/client.md', () => {
  it('send a message and read it', async () => {
    expect(await printedBy(() => import('./send.js'))).toEqual([
      ['responded', 'Where is my order?'],
      ['responded', 'Where is my order?'],
    ])
  })
  it('wait for the end of a message', async () => {
    expect(await printedBy(() => import('./complete.js'))).toEqual([['Where is my order?']])
  })
  it('stream an answer', async () => {
    expect(await printedBy(() => import('./stream.js'))).toEqual([['Tell me a story']])
  })
  it('list messages', async () => {
    expect(await printedBy(() => import('./lists.js'))).toContainEqual([
      'responded',
      'Where is my order?',
    ])
  })
  it('handle an error', async () => {
    expect(await printedBy(() => import('./errors.js'))).toEqual([
      [404, 'NOT_FOUND', expect.any(String), [], expect.any(String)],
    ])
  })
  it('manage a webhook', async () => {
    expect(await printedBy(() => import('./webhooks.js'))).toEqual([
      ['keep this secret:', expect.stringMatching(/^whsec_/)],
      [expect.stringMatching(/^(?:pending|delivered)$/)],
    ])
  })
})
