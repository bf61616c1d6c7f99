import { describe, expect, it } from 'vitest'
import { createClient, MessagingError } from './index.js'

const messageId = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'

/** A client of an API that answers with this message. */
function clientOf(message: object) {
  const bodies: { readonly sessionId: string; readonly message: string }[] = []
  const fetch: typeof globalThis.fetch = async (_, init) => {
    if (init?.method === 'POST') bodies.push(JSON.parse(init.body as string))
    return Response.json({ messageId, ...message })
  }
  const client = createClient({ baseUrl: 'http://api.invalid', apiKey: 'k', retries: 0, fetch })
  return { client, bodies }
}

describe('ask', () => {
  it('returns the text of the answer', async () => {
    const { client, bodies } = clientOf({ state: 'responded', response: 'Hi' })
    expect(await client.ask('bot', 'Hello', { sessionId: 's' })).toBe('Hi')
    expect(bodies).toEqual([{ sessionId: 's', message: 'Hello' }])
  })

  it('starts a new session, with a name from the key if it has one', async () => {
    const { client, bodies } = clientOf({ state: 'responded', response: 'Hi' })
    for (const idempotencyKey of ['k', 'k', 'other'])
      await client.ask('bot', 'Hello', { idempotencyKey })
    await client.ask('bot', 'Hello')
    const [first, second, ...others] = bodies.map(({ sessionId }) => sessionId)
    expect(first).toMatch(/^ask-[0-9a-f]{64}$/)
    expect(second).toBe(first)
    expect(new Set([first, ...others]).size).toBe(3)
  })

  it.each([
    ['message_failed', { state: 'failed', error: { code: 'RUNTIME_ERROR', message: 'no' } }],
    ['message_cancelled', { state: 'cancelled' }],
    ['input_required', { state: 'input_required', input: { question: 'Which?' } }],
  ])('throws %s', async (kind, message) => {
    const asked = clientOf(message).client.ask('bot', 'Hello')
    await expect(asked).rejects.toBeInstanceOf(MessagingError)
    await expect(asked).rejects.toMatchObject({ kind, messageId })
  })

  it('throws no_answer_yet after its time', async () => {
    const asked = clientOf({ state: 'running' }).client.ask('bot', 'Hello', { timeoutMs: 0 })
    await expect(asked).rejects.toMatchObject({ kind: 'no_answer_yet', messageId })
  })
})
