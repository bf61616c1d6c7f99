import { describe, expect, it } from 'vitest'
import { aMessage, openScene, type Answer, type Scene } from '../../test/scene.js'

const send = (
  { ask }: Scene,
  agent: { id: string },
  idempotencyKey: string,
  body: unknown = aMessage(),
  headers = {},
): Promise<Answer> =>
  ask('POST', `/v1/agents/${agent.id}/messages`, {
    body,
    headers: { 'Idempotency-Key': idempotencyKey, ...headers },
  })

describe('I: Idempotency-Key', () => {
  it('a second send attaches to the first: same message, same answer, one run', async () => {
    const scene = await openScene()
    const agent = await scene.createAgent()
    const first = await send(scene, agent, 'key')
    const second = await send(scene, agent, 'key')
    expect(second.text).toBe(first.text)
    expect([
      first.headers.get('idempotent-replayed'),
      second.headers.get('idempotent-replayed'),
    ]).toEqual([null, 'true'])
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    expect(scene.telemetry.named('run.finished')).toHaveLength(1)
  })

  it('100 parallel sends create one message and one run, and all get its answer', async () => {
    const scene = await openScene()
    const agent = await scene.createSlowAgent()
    const sending = Array.from({ length: 100 }, () => send(scene, agent, 'key'))
    await scene.clock.until(() => scene.runtime.openRuns.length === 1)
    scene.runtime.answer(scene.runtime.openRuns[0] ?? '', 'once')
    const answers = await Promise.all(sending)
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.json).toMatchObject({ status: 'responded', response: 'once' })
    expect(
      answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true'),
    ).toHaveLength(99)
    expect(scene.runtime.requests).toHaveLength(1)
  })

  it('a second send attaches while the first waits, even if that caller leaves', async () => {
    const scene = await openScene()
    const agent = await scene.createSlowAgent()
    const caller = new AbortController()
    const body = aMessage()
    const path = `/v1/agents/${agent.id}/messages`
    const first = scene.ask('POST', path, {
      body,
      headers: { 'Idempotency-Key': 'key' },
      signal: caller.signal,
    })
    await scene.clock.until(() => scene.runtime.openRuns.length === 1)
    const second = send(scene, agent, 'key')
    await scene.clock.advance(1_000)
    caller.abort()
    scene.runtime.answer(scene.runtime.openRuns[0] ?? '', 'late')
    expect((await second).json).toMatchObject({
      messageId: (await first).json.messageId,
      response: 'late',
    })
  })

  it('a second send attaches even if the runtime has stopped', async () => {
    const scene = await openScene()
    const agent = await scene.createAgent()
    const first = await send(scene, agent, 'key')
    await scene.ask('POST', `/v1/agents/${agent.id}/stop`)
    expect((await send(scene, agent, 'key')).text).toBe(first.text)
    expect((await send(scene, agent, 'another')).json.error.code).toBe('AGENT_NOT_RUNNING')
  })

  it.each([
    ['400', aMessage({ executionPrincipal: null })],
    ['400 of the shape', aMessage({ sessionId: 7 })],
  ])('a refused request (%s) does not use up the key', async (_, body) => {
    const scene = await openScene()
    const agent = await scene.createAgent()
    expect((await send(scene, agent, 'key', body)).status).toBe(400)
    const sent = await send(scene, agent, 'key')
    expect([sent.status, sent.headers.get('idempotent-replayed')]).toEqual([200, null])
  })

  it('a request refused with 409 does not use up the key', async () => {
    const scene = await openScene()
    const agent = await scene.createAgent({ desiredState: 'stopped' })
    expect((await send(scene, agent, 'key')).status).toBe(409)
    await scene.ask('POST', `/v1/agents/${agent.id}/start`)
    expect((await send(scene, agent, 'key')).headers.get('idempotent-replayed')).toBeNull()
  })

  it('a key belongs to one agent', async () => {
    const scene = await openScene()
    const one = await scene.createAgent()
    const other = await scene.createAgent()
    expect((await send(scene, one, 'key')).json.messageId).not.toBe(
      (await send(scene, other, 'key')).json.messageId,
    )
  })

  it.each([
    ['empty', ''],
    ['256 characters', 'k'.repeat(256)],
    ['non-ASCII', 'clé'],
    ['a control character', 'a\tb'],
    ['a comma, as duplicate headers have', 'one, two'],
  ])('refuses a key that is %s', async (_, key) => {
    const scene = await openScene()
    const agent = await scene.createAgent()
    const refused = await send(scene, agent, key)
    expect([refused.status, refused.json.error.code, refused.json.error.issues[0].path]).toEqual([
      400,
      'BAD_REQUEST',
      'Idempotency-Key',
    ])
  })

  it('refuses duplicate headers', async () => {
    const scene = await openScene()
    const agent = await scene.createAgent()
    const headers = new Headers({
      Authorization: `Bearer ${scene.key}`,
      'Content-Type': 'application/json',
    })
    headers.append('Idempotency-Key', 'one')
    headers.append('Idempotency-Key', 'one')
    const refused = await scene.app.request(`/v1/agents/${agent.id}/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(aMessage()),
    })
    expect(refused.status).toBe(400)
  })

  it.each(['k', 'k'.repeat(255), '~!@#$%^&*() {}'])('accepts the key %j', async (key) => {
    const scene = await openScene()
    const agent = await scene.createAgent()
    expect((await send(scene, agent, key)).status).toBe(200)
  })

  it.each(['reuse', 'reject'] as const)(
    'with the policy "%s", another session gets 422 and nothing of the message',
    async (onKeyMismatch) => {
      const scene = await openScene({ policy: { onKeyMismatch } })
      const agent = await scene.createAgent()
      const message = 'my pin is 4711'
      const first = await send(scene, agent, 'key', aMessage({ message, sessionId: 'theirs' }))
      const { messageId, response } = first.json
      for (const prefer of ['wait=3', 'respond-async']) {
        const body = aMessage({ message, sessionId: 'mine' })
        const refused = await send(scene, agent, 'key', body, { Prefer: prefer })
        expect([refused.status, refused.json.error.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
        const seen = `${refused.text} ${JSON.stringify([...refused.headers])}`
        for (const part of [messageId, response, '4711', 'theirs', 'idempotent-replayed'])
          expect(seen).not.toContain(part)
        expect(refused.headers.get('location')).toBeNull()
      }
      const { json } = await scene.ask('GET', `/v1/agents/${agent.id}/messages`)
      expect(json.data).toHaveLength(1)
    },
  )

  it.each([
    ['reuse', 200, undefined],
    ['reject', 422, 'IDEMPOTENCY_MISMATCH'],
  ] as const)(
    'with the policy "%s", a reuse with another body is %j',
    async (onKeyMismatch, status, code) => {
      const scene = await openScene({ policy: { onKeyMismatch } })
      const agent = await scene.createAgent()
      const first = await send(scene, agent, 'key', aMessage({ metadata: { a: 1, b: 2 } }))
      const reordered =
        '{ "metadata": {"b": 2, "a": 1},\n "message": "Hello?", "sessionId": "session" }'
      expect((await send(scene, agent, 'key', reordered)).text).toBe(first.text)
      const other = await send(scene, agent, 'key', aMessage({ message: 'another' }))
      expect([other.status, other.json.error?.code]).toEqual([status, code])
    },
  )
})
