import type { Policy } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

/** Sends a message whose runtime answers late. */
async function openDeferred(policy: Partial<Policy> = {}) {
  const scene = await openScene({ policy })
  const { ask, clock, createSlowAgent, runtime } = scene
  const agent = await createSlowAgent({ maxAttempts: 2 })
  const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, {
    body: aMessage(),
    headers: { Prefer: 'respond-async' },
  })
  await clock.until(() => runtime.openRuns.length === 1)
  runtime.defer(sent.json.messageId)
  await clock.advance(0)
  const path = sent.headers.get('location') ?? ''
  const runToken = runtime.requests[0]?.runToken ?? ''
  const answer = (body: unknown, key = runToken) => ask('POST', `${path}/response`, { key, body })
  const message = async () => (await ask('GET', path)).json
  return { ...scene, path, runToken, answer, message }
}

describe('POST …/messages/:messageId/response', () => {
  it('accepts an answer with only the run token, and accepts its repetition', async () => {
    const { answer, message } = await openDeferred()
    expect((await message()).state).toBe('deferred')
    for (const _ of ['first', 'repeated']) {
      const taken = await answer({ response: 'at last' })
      expect([taken.status, taken.text, taken.headers.get('cache-control')]).toEqual([
        204,
        '',
        'no-store',
      ])
    }
    expect(await message()).toMatchObject({ status: 'responded', response: 'at last' })
  })

  it('ends the wait of the caller', async () => {
    const { answer, ask, clock, path } = await openDeferred()
    const waiting = ask('GET', path, { headers: { Prefer: 'wait=10' } })
    await clock.advance(100)
    await answer({ response: 'at last' })
    expect((await waiting).json.response).toBe('at last')
  })

  it('accepts an empty answer', async () => {
    const { answer, message } = await openDeferred()
    expect((await answer({ response: '' })).status).toBe(204)
    expect(await message()).toMatchObject({ status: 'responded', response: '' })
  })

  it('keeps the tokens in the message, its event and the usage of the project', async () => {
    const { answer, ask, message } = await openDeferred({ quotas: {} })
    const usage = { inputTokens: 12, outputTokens: 3 }
    expect((await answer({ error: { message: 'busy', retryable: true }, usage })).status).toBe(204)
    const next = await openDeferred({ quotas: {} })
    await next.answer({ response: 'at last', usage })
    expect(await next.message()).toMatchObject({ response: 'at last', usage })
    const { data } = (await next.ask('GET', '/v1/events')).json
    expect(data.at(-1).event).toMatchObject({ event: 'message.responded', data: { usage } })
    expect((await next.ask('GET', '/v1/usage')).json.total).toMatchObject({ runs: 1, ...usage })
    // A failed run counts too, and its message has no usage.
    expect((await ask('GET', '/v1/usage')).json.total).toMatchObject({ runs: 1, ...usage })
    expect(await message()).not.toHaveProperty('usage')
    expect((await answer({ response: 'x', usage: { inputTokens: 0.5 } })).status).toBe(400)
  })

  it('keeps the parts of the answer, and drops wrong ones', async () => {
    const { answer, message } = await openDeferred()
    const call = { toolCallId: 'c1', toolName: 'look' }
    const delta = { type: 'reasoning-delta', id: 'r' }
    const parts = [
      { ...delta, text: 'Think' },
      { ...delta, text: '\ud83d' },
      { ...delta, text: '\ude00' },
      { type: 'tool-output-available', toolCallId: 'no call', output: 1 },
      { type: 'tool-input-available', ...call, input: {} },
      { type: 'text-delta', text: 'at ' },
      { type: 'file', url: 'data:,a', mediaType: 'text/plain' },
      { type: 'tool-output-available', toolCallId: 'c1', output: '</script>' },
      { type: 'text-delta', text: 'last' },
      { ...delta, text: 'x'.repeat(70_000) },
    ]
    expect((await answer({ response: 'at last', parts: ['text'] })).status).toBe(400)
    expect((await answer({ response: 'at last', parts })).status).toBe(204)
    expect((await answer({ response: 'at last', parts: [] })).status).toBe(204)
    expect(await message()).toMatchObject({
      response: 'at last',
      partsTruncated: true,
      parts: [
        { type: 'reasoning', text: 'Think😀' },
        { type: 'tool', ...call, state: 'output-available', input: {}, output: '</script>' },
        { type: 'text', text: 'at last' },
      ],
    })
    const next = await openDeferred()
    await next.answer({ question: 'Pay?', parts })
    expect(await next.message()).not.toHaveProperty('parts')
  })

  it('accepts a question, and accepts its repetition', async () => {
    const { answer, message } = await openDeferred()
    const question = { question: 'Pay?', options: ['yes', 'no'] }
    expect((await answer({ ...question, options: [] })).status).toBe(400)
    for (const _ of ['first', 'repeated']) expect((await answer(question)).status).toBe(204)
    expect((await answer({ question: 'Another?' })).status).toBe(409)
    expect((await answer({ ...question, response: 'paid' })).status).toBe(400)
    expect(await message()).toMatchObject({ state: 'input_required', input: question })
  })

  it('accepts a failure', async () => {
    const { answer, message } = await openDeferred()
    expect((await answer({ error: { message: 'no idea' } })).status).toBe(204)
    expect(await message()).toMatchObject({
      status: 'pending',
      state: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'no idea' },
    })
  })

  it('accepts a retryable failure, which supersedes its token', async () => {
    const { answer, clock, message, runtime, runToken } = await openDeferred()
    expect((await answer({ error: { message: 'busy', retryable: true } })).status).toBe(204)
    expect((await message()).state).toBe('queued')
    await clock.until(() => runtime.requests.length === 2)
    const refused = await answer({ response: 'too late' }, runToken)
    expect([refused.status, refused.json.error.code]).toEqual([409, 'CONFLICT'])
    expect((await answer({ response: 'in time' }, runtime.requests[1]?.runToken)).status).toBe(204)
  })

  it('cuts a long failure, never inside a character', async () => {
    const { answer, message } = await openDeferred()
    expect((await answer({ error: { message: `${'x'.repeat(999)}😀` } })).status).toBe(204)
    expect((await message()).error.message).toBe('x'.repeat(999))
  })

  it('accepts the repetition of a failure', async () => {
    const { answer, message } = await openDeferred()
    for (const _ of ['first', 'repeated'])
      expect((await answer({ error: { message: 'busy', retryable: true } })).status).toBe(204)
    expect((await message()).state).toBe('queued')
    const other = await openDeferred()
    for (const _ of ['first', 'repeated'])
      expect((await other.answer({ error: { message: 'no idea' } })).status).toBe(204)
    expect((await other.answer({ error: { message: 'some idea' } })).status).toBe(409)
    expect((await other.message()).error.message).toBe('no idea')
  })

  it('accepts an answer only under the path of its agent', async () => {
    const { ask, createAgent, message, path, runToken } = await openDeferred()
    const { id: otherId } = await createAgent()
    const answerOf = (agent: string) =>
      ask('POST', `${path.replace(/agents\/[^/]+/, `agents/${agent}`)}/response`, {
        key: runToken,
        body: { response: 'r' },
      })
    for (const agent of [otherId, 'nobody', UNKNOWN_ID])
      expect((await answerOf(agent)).status, agent).toBe(404)
    expect((await message()).state).toBe('deferred')
    expect((await answerOf('agent-1')).status).toBe(204)
  })

  it('refuses a forged token before it reads the body', async () => {
    const { ask, path, runToken } = await openDeferred()
    const refused = await ask('POST', `${path}/response`, {
      key: `${runToken.slice(0, -1)}~`,
      body: new Uint8Array(7 * 1024 * 1024),
    })
    expect(refused.status).toBe(401)
  })

  it('refuses a second, different answer', async () => {
    const { answer, message } = await openDeferred()
    await answer({ response: 'one' })
    expect((await answer({ response: 'two' })).json.error.code).toBe('CONFLICT')
    expect((await message()).response).toBe('one')
  })

  it.each([
    ['none', () => ''],
    ['an API key', (_: string, key: string) => key],
    ['an altered token', (token: string) => `${token}x`],
    ['a token of another lease', (token: string) => token.replace('amr_1_', 'amr_2_')],
    ['a token without a lease', () => 'amr_'],
  ])('refuses %s with 401', async (_, tokenOf) => {
    const { answer, key, message, runToken } = await openDeferred()
    const refused = await answer({ response: 'forged' }, tokenOf(runToken, key))
    expect([
      refused.status,
      refused.json.error.code,
      refused.headers.get('www-authenticate'),
    ]).toEqual([401, 'UNAUTHORIZED', 'Bearer'])
    expect((await message()).state).toBe('deferred')
  })

  it('refuses the token of another message, even if the message does not exist', async () => {
    const { ask, path, runToken } = await openDeferred()
    for (const id of [UNKNOWN_ID, 'x']) {
      const other = path.replace(/[^/]+$/, id)
      expect(
        (await ask('POST', `${other}/response`, { key: runToken, body: { response: 'r' } })).status,
      ).toBe(401)
    }
  })

  it.each([
    {},
    { response: 7 },
    { response: null },
    { response: null, error: null },
    { response: 'r', error: { message: 'm' } },
    { error: 'm' },
    { error: {} },
    { error: { message: '\0' } },
    [],
  ])('refuses the body %j', async (body) => {
    const { answer, message } = await openDeferred()
    const refused = await answer(body)
    expect([refused.status, refused.json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect((await message()).state).toBe('deferred')
  })

  it('names the missing message of an error', async () => {
    const { answer } = await openDeferred()
    expect((await answer({ error: {} })).json.error.message).toBe('error.message is required')
  })

  it('accepts 1 MiB escaped characters, and refuses a longer answer without effect', async () => {
    const escaped = (characters: number) => `{"response":"${'\\u00e9'.repeat(characters)}"}`
    const fits = await openDeferred()
    expect((await fits.answer(escaped(1024 * 1024))).status).toBe(204)
    expect((await fits.message()).response).toHaveLength(1024 * 1024)
    const tooLong = await openDeferred()
    const refused = await tooLong.answer(escaped(1024 * 1024 + 1))
    expect([refused.status, refused.json.error.issues]).toMatchObject([
      400,
      [{ path: 'response', message: 'has more than 1048576 characters' }],
    ])
    expect((await tooLong.answer({ response: 'a\0' })).status).toBe(400)
    expect((await tooLong.message()).state).toBe('deferred')
    expect((await tooLong.answer(escaped(1_100_000))).status).toBe(413)
  })
})
