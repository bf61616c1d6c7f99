import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('POST /v1/agents/:id/messages', () => {
  it('answers 200 with exactly messageId, status and response', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const answer = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({
      messageId: expect.stringMatching(UUID),
      status: 'responded',
      response: 'Hello?',
    })
    expect(Object.keys(answer.json)).toEqual(['messageId', 'status', 'response'])
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('location')).toBe(
      `/v1/agents/${agent.id}/messages/${answer.json.messageId}`,
    )
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
    expect(answer.headers.get('preference-applied')).toBeNull()
  })

  it('names the path of the message, even if its agent is called v1', async () => {
    const { ask, createAgent } = await openScene()
    for (const name of ['v1', 'agents', 'messages']) {
      const { id } = await createAgent({ name })
      const sent = await ask('POST', `/v1/agents/${name}/messages`, { body: aMessage() })
      expect(sent.headers.get('location')).toBe(`/v1/agents/${id}/messages/${sent.json.messageId}`)
    }
  })

  it('answers 202 with exactly messageId and status when no answer comes in time', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene()
    const agent = await createSlowAgent()
    const sending = ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    await clock.until(() => runtime.openRuns.length === 1)
    await clock.advance(30_000)
    const answer = await sending
    expect(answer.status).toBe(202)
    expect(answer.json).toEqual({ messageId: runtime.openRuns[0], status: 'pending' })
    expect(Object.keys(answer.json)).toEqual(['messageId', 'status'])
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.headers.get('location')).toBe(
      `/v1/agents/${agent.id}/messages/${answer.json.messageId}`,
    )
  })

  it('finds the agent by its name, and by its id in upper case', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent({ name: 'echo' })
    for (const id of ['echo', agent.id.toUpperCase()]) {
      const answer = await ask('POST', `/v1/agents/${id}/messages`, { body: aMessage() })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('location')).toContain(`/v1/agents/${agent.id}/messages/`)
    }
  })

  it('passes sessionId, message and metadata to the agent unchanged', async () => {
    const { app, clock, createSlowAgent, key, runtime } = await openScene()
    const agent = await createSlowAgent()
    const sent =
      '{"sessionId":"s é","message":"m ' +
      '😀","metadata":{"z":1,"a":[null,{"__proto__":{"polluted":true}}],"__proto__":{"x":1},"constructor":"c"}}'
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Prefer: 'respond-async',
    }
    await app.request(`/v1/agents/${agent.id}/messages`, { method: 'POST', headers, body: sent })
    await clock.until(() => runtime.requests.length === 1)
    const [run] = runtime.requests
    expect(run).toMatchObject({ sessionId: 's é', message: 'm 😀' })
    expect(
      JSON.stringify({ sessionId: run?.sessionId, message: run?.message, metadata: run?.metadata }),
    ).toBe(sent)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('accepts the longest message and metadata, even if fully escaped', async () => {
    const { ask, createAgent } = await openScene()
    await createAgent({ name: 'bot' })
    const { messageLength, metadataLength } = defaultLimits
    const escaped = (length: number): string => '\\u0633'.repeat(length)
    const body = `{"sessionId":"s","message":"${escaped(messageLength)}","metadata":{"k":"${escaped(metadataLength - '{"k":""}'.length)}"}}`
    expect((await ask('POST', '/v1/agents/bot/messages', { body })).status).toBe(200)
  })

  it('ignores unknown fields', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene()
    const agent = await createSlowAgent()
    const stray = {
      projectId: 'other',
      agent: 'other',
      idempotencyKey: 'k',
      waitMs: 600_000,
      id: UNKNOWN_ID,
      abort: {},
    }
    const answer = await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(stray),
      headers: { Prefer: 'respond-async' },
    })
    expect(answer.status).toBe(202)
    await clock.until(() => runtime.requests.length === 1)
    expect(runtime.requests[0]?.agentId).toBe(agent.id)
    const again = await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(stray),
      headers: { Prefer: 'respond-async' },
    })
    expect(again.json.messageId).not.toBe(answer.json.messageId)
  })
})

describe('executionPrincipal', () => {
  const service = { type: 'service' }
  const endUser = { type: 'end_user', endUserId: 'u' }
  const required = 'endUserId is required when the agent default principal is end_user'
  const absent = {}
  const given = (executionPrincipal: unknown) => ({ executionPrincipal })

  it.each([
    ['service', absent, service],
    ['service', given(service), service],
    ['end_user', given(service), service],
    ['service', given(endUser), endUser],
    ['end_user', given(endUser), endUser],
  ])('with the default %s, %j is accepted as %j', async (type, fields, resolved) => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent({ defaultExecutionPrincipal: { type } })
    const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage(fields) })
    expect(sent.status).toBe(200)
    const message = await ask('GET', sent.headers.get('location') ?? '')
    expect(message.json.executionPrincipal).toEqual(resolved)
  })

  it.each([
    ['end_user', absent, required],
    ['end_user', given({ type: 'end_user' }), required],
    ['end_user', given({ type: 'end_user', endUserId: '' }), required],
    ['end_user', given(null), required],
    ['end_user', given({ type: 'other' }), required],
    ['service', given(null), 'executionPrincipal is invalid: must be an object'],
    ['service', given('service'), 'executionPrincipal is invalid'],
    ['service', given([]), 'executionPrincipal is invalid'],
    ['service', given({}), 'executionPrincipal is invalid'],
    ['service', given({ type: 'end_user' }), 'executionPrincipal is invalid'],
    ['service', given({ type: 'service', extra: 1 }), 'executionPrincipal is invalid'],
    ['service', given({ type: 'end_user', endUserId: 7 }), 'executionPrincipal is invalid'],
  ])('with the default %s, %j is refused and nothing is stored', async (type, fields, message) => {
    const { ask, createAgent, telemetry } = await openScene()
    const agent = await createAgent({ defaultExecutionPrincipal: { type } })
    const refused = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage(fields) })
    expect(refused.status).toBe(400)
    expect(refused.json.error.code).toBe('BAD_REQUEST')
    expect(refused.json.error.message).toContain(message)
    expect(telemetry.named('message.accepted')).toEqual([])
    expect((await ask('GET', `/v1/agents/${agent.id}/messages`)).json).toEqual({
      data: [],
      nextCursor: null,
    })
  })

  it('the agent’s default never provides the end user of a message', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent({
      defaultExecutionPrincipal: { type: 'end_user', endUserId: 'default' },
    })
    const refused = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect(refused.json.error.message).toBe(required)
  })
})

describe('agents that cannot take a message', () => {
  it('gives a missing agent and another project’s agent the same 404', async () => {
    const { ask, createAgent, otherKey } = await openScene()
    const agent = await createAgent({ name: 'mine' })
    const answers = [
      await ask('POST', `/v1/agents/${UNKNOWN_ID}/messages`, { body: aMessage() }),
      await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage(), key: otherKey }),
      await ask('POST', '/v1/agents/mine/messages', { body: aMessage(), key: otherKey }),
    ]
    for (const { status, json } of answers) {
      expect(status).toBe(404)
      expect(json.error).toEqual({ code: 'NOT_FOUND', message: 'No such agent' })
    }
  })

  it('answers 409 AGENT_NOT_RUNNING for a stopped agent, and stores nothing', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent({ desiredState: 'stopped' })
    const refused = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect(refused.status).toBe(409)
    expect(refused.json.error.code).toBe('AGENT_NOT_RUNNING')
    expect(refused.headers.get('retry-after')).toBeNull()
    expect((await ask('GET', `/v1/agents/${agent.id}/messages`)).json.data).toEqual([])
  })

  it('gives an agent that is about to start a 409 with Retry-After and no advice', async () => {
    const { ask, createAgent } = await openScene({ isStarted: false })
    const agent = await createAgent()
    const refused = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
      409,
      'AGENT_NOT_RUNNING',
      '1',
    ])
    expect(refused.json.error.message).toBe('The agent is not running: its state is stopped')
  })

  it('answers 429 with Retry-After when the session is full', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene()
    const agent = await createSlowAgent({ maxQueued: 0 })
    const send = () =>
      ask('POST', `/v1/agents/${agent.id}/messages`, {
        body: aMessage(),
        headers: { Prefer: 'respond-async' },
      })
    expect((await send()).status).toBe(202)
    await clock.until(() => runtime.openRuns.length === 1)
    const refused = await send()
    expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'TOO_MANY_REQUESTS',
      '1',
    ])
  })

  it('answers 503 with Retry-After and no reason while the storage is unavailable', async () => {
    const { ask, createAgent, storage } = await openScene()
    const agent = await createAgent()
    storage.fail('messages.accept')
    const refused = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'UNAVAILABLE',
      '1',
    ])
    expect(refused.text).not.toContain('accept')
  })
})

it('a send that the storage does not confirm gets 503, without a look at its key', async () => {
  const { ask, clock, createAgent, storage } = await openScene()
  const agent = await createAgent()
  const send = () => ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
  expect((await send()).status).toBe(200)
  const silence = new AbortController()
  const slowUntil = once(silence.signal, 'abort')
  storage.fail('messages.accept', { slowUntil })
  storage.fail('credentials.findByDigest', { slowUntil, times: Infinity })
  const sending = send()
  await clock.until(() => Promise.race([sending.then(() => true), sleep(1, false)]))
  silence.abort()
  const refused = await sending
  expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'UNAVAILABLE',
    '1',
  ])
  expect(refused.json.error.message).toContain('same Idempotency-Key')
})

describe('Prefer', () => {
  it('wait=N shortens the wait', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene()
    const agent = await createSlowAgent()
    const sending = ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(),
      headers: { Prefer: 'wait=2' },
    })
    await clock.until(() => runtime.openRuns.length === 1)
    await clock.advance(2_000)
    const answer = await sending
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([202, 'wait=2'])
  })

  it('wait=N does not lengthen the wait, and is then not reported as applied', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene({
      policy: { syncWaitMs: 1_000 },
    })
    const agent = await createSlowAgent()
    const sending = ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(),
      headers: { Prefer: 'wait=3600' },
    })
    await clock.until(() => runtime.openRuns.length === 1)
    await clock.advance(1_000)
    const answer = await sending
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([202, null])
  })

  it('respond-async answers 202 at once', async () => {
    const { ask, createSlowAgent } = await openScene()
    const agent = await createSlowAgent()
    const answer = await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(),
      headers: { Prefer: 'respond-async' },
    })
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([
      202,
      'respond-async',
    ])
  })
})

describe('a caller that leaves', () => {
  it('ends the wait, and the agent continues', async () => {
    const { ask, clock, createSlowAgent, runtime, service } = await openScene()
    const agent = await createSlowAgent()
    const caller = new AbortController()
    const sending = ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(),
      signal: caller.signal,
    })
    await clock.until(() => runtime.openRuns.length === 1)
    caller.abort()
    await clock.advance(500) // the next poll
    const answer = await sending
    expect(answer.status).toBe(202)
    runtime.answer(answer.json.messageId, 'still here')
    await clock.advance(0)
    const path = `/v1/agents/${agent.id}/messages/${answer.json.messageId}`
    expect((await ask('GET', path)).json).toMatchObject({
      status: 'responded',
      response: 'still here',
    })
    await service.stop()
  })
})

describe('GET /v1/agents/:id/messages/:messageId', () => {
  it('shows an answered message', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage({ metadata: { source: 'test' } }),
    })
    const answer = await ask('GET', `/v1/agents/${agent.name}/messages/${sent.json.messageId}`)
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({
      messageId: sent.json.messageId,
      agentId: agent.id,
      sessionId: 'session',
      status: 'responded',
      state: 'responded',
      message: 'Hello?',
      metadata: { source: 'test' },
      executionPrincipal: { type: 'service' },
      response: 'Hello?',
      responseTimeMs: 0,
      respondedAt: '2030-01-01T00:00:00.000Z',
      attempt: 1,
      createdAt: '2030-01-01T00:00:00.000Z',
    })
  })

  it('shows a failed message as pending, with its error', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene()
    const agent = await createSlowAgent()
    const sending = ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    await clock.until(() => runtime.openRuns.length === 1)
    runtime.fail(runtime.openRuns[0] ?? '', 'out of order')
    const sent = await sending
    expect(sent.status).toBe(202)
    const { json } = await ask('GET', sent.headers.get('location') ?? '')
    expect(json).toMatchObject({
      status: 'pending',
      state: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'out of order' },
    })
    expect(json).not.toHaveProperty('response')
    expect(json).not.toHaveProperty('metadata')
  })

  it('with Prefer: wait=N waits for the answer', async () => {
    const { ask, clock, createSlowAgent, runtime } = await openScene()
    const agent = await createSlowAgent()
    const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(),
      headers: { Prefer: 'respond-async' },
    })
    await clock.until(() => runtime.openRuns.length === 1)
    const path = sent.headers.get('location') ?? ''
    expect((await ask('GET', path, { headers: { Prefer: 'respond-async' } })).json.state).toBe(
      'running',
    )
    const reading = ask('GET', path, { headers: { Prefer: 'wait=10' } })
    await clock.advance(1_000)
    runtime.answer(sent.json.messageId, 'late')
    const answer = await reading
    expect(answer.json).toMatchObject({
      status: 'responded',
      response: 'late',
      responseTimeMs: 1_000,
    })
    expect(answer.headers.get('preference-applied')).toBe('wait=10')
  })

  it('answers 404 for a missing message, another agent’s and another project’s', async () => {
    const { ask, createAgent, otherKey } = await openScene()
    const agent = await createAgent()
    const other = await createAgent()
    const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    const id = sent.json.messageId
    expect(
      (await ask('GET', `/v1/agents/${agent.id}/messages/${id}`, { key: otherKey })).json.error
        .message,
    ).toBe('No such agent')
    expect((await ask('GET', `/v1/agents/${other.id}/messages/${id}`)).json.error.message).toBe(
      'No such message',
    )
    expect(
      (await ask('GET', `/v1/agents/${agent.id}/messages/${UNKNOWN_ID}`)).json.error.message,
    ).toBe('No such message')
  })
})

describe('GET /v1/agents/:id/messages', () => {
  it('lists newest first, in pages, by session, status and state', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const ids: string[] = []
    for (const sessionId of ['a', 'b', 'a']) {
      ids.unshift(
        (await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage({ sessionId }) }))
          .json.messageId,
      )
    }
    const listed = async (query: string) => {
      const { json } = await ask('GET', `/v1/agents/${agent.id}/messages?${query}`)
      return {
        ids: json.data.map((message: { messageId: string }) => message.messageId),
        nextCursor: json.nextCursor,
      }
    }
    expect(await listed('')).toEqual({ ids, nextCursor: null })
    const first = await listed('limit=2')
    expect(first).toEqual({ ids: ids.slice(0, 2), nextCursor: ids[1] })
    expect(await listed(`limit=2&cursor=${first.nextCursor}`)).toEqual({
      ids: ids.slice(2),
      nextCursor: null,
    })
    expect((await listed('sessionId=b')).ids).toEqual([ids[1]])
    expect((await listed('status=pending')).ids).toEqual([])
    expect((await listed('state=responded')).ids).toEqual(ids)
  })

  it.each([
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=',
    'limit=5&limit=6',
    'cursor=x',
    'status=done',
    'state=lost',
    'sessionId=%00',
  ])('refuses ?%s', async (query) => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const refused = await ask('GET', `/v1/agents/${agent.id}/messages?${query}`)
    expect([refused.status, refused.json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(refused.json.error.issues).toEqual([
      { path: query.split('=')[0], message: expect.any(String) },
    ])
  })
})

describe('GET /v1/messages', () => {
  it('names the longest text in the document', async () => {
    const { ask } = await openScene()
    const { parameters } = (await ask('GET', '/openapi.json')).json.paths['/v1/messages'].get
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: 'text',
        schema: { type: 'string', pattern: '^[^\\x00]*$', maxLength: 100 },
      }),
    )
  })

  it('finds messages over all agents with their deliveries', async () => {
    const { ask, clock, createAgent, keyWith } = await openScene()
    const agents = [await createAgent(), await createAgent()]
    const { json: webhook } = await ask('POST', '/v1/webhooks', {
      body: { url: 'https://receiver.example/hook', events: ['message.responded'] },
    })
    const send = async (place: number, body: Record<string, unknown>): Promise<string> =>
      (await ask('POST', `/v1/agents/${agents[place].id}/messages`, { body: aMessage(body) })).json
        .messageId
    const executionPrincipal = { type: 'end_user', endUserId: 'u 1' }
    const [first, second] = [
      await send(0, { metadata: { correlationId: 'c+1' } }),
      await send(1, { sessionId: 'other', executionPrincipal }),
    ]
    await clock.advance(0)
    const { key } = await keyWith(['project:message'])
    const idsOf = async (query: string): Promise<string[]> =>
      (await ask('GET', `/v1/messages?${query}`, { key })).json.data.map(
        ({ messageId }: { messageId: string }) => messageId,
      )
    expect(await idsOf('')).toEqual([second, first])
    expect(await idsOf(`messageId=${first}`)).toEqual([first])
    expect(await idsOf('sessionId=other')).toEqual([second])
    expect(await idsOf('endUserId=u%201')).toEqual([second])
    for (const [place, id] of [first, second].entries()) {
      const { name } = agents[place]
      expect(await idsOf(`agent=${agents[place].id}`)).toEqual([id])
      expect(await idsOf(`agent=${name}&state=responded`)).toEqual([id])
    }
    expect(await idsOf(`agent=${agents[0].id}&endUserId=u%201`)).toEqual([])
    for (const path of ['/v1/messages', '/v1/inputs']) {
      const unknown = await ask('GET', `${path}?agent=nobody`)
      expect([unknown.status, unknown.json.error.code]).toEqual([404, 'NOT_FOUND'])
    }
    expect(await idsOf('correlationId=c%2B1')).toEqual([first])
    expect(await idsOf('text=hello%3F&sessionId=other')).toEqual([second])
    expect(await idsOf('text=bye')).toEqual([])
    expect(await idsOf('state=failed')).toEqual([])
    expect(await idsOf('status=responded&createdAfter=2030-01-01T00:00:00Z')).toHaveLength(2)
    expect(await idsOf('createdBefore=2030-01-01T00:00:00Z')).toEqual([])

    const page = (await ask('GET', '/v1/messages?limit=1')).json
    expect(page).toMatchObject({ data: [{ agentId: agents[1].id, response: 'Hello?' }] })
    expect(page.lookedBackTo).toBe(page.data[0].createdAt)
    expect(page.data[0].deliveries).toEqual([
      {
        id: expect.any(String),
        webhookId: webhook.id,
        event: 'message.responded',
        status: 'delivered',
        attemptCount: 1,
      },
    ])
    const next = (await ask('GET', `/v1/messages?limit=1&cursor=${page.nextCursor}`)).json
    expect(next.data).toMatchObject([{ messageId: first }])
    expect(next).toEqual({ data: next.data, nextCursor: null })
  })

  it('finds nothing of another project, and refuses a key without the permission', async () => {
    const { ask, createAgent, otherKey, keyWith } = await openScene()
    const { id } = await createAgent()
    const sent = await ask('POST', `/v1/agents/${id}/messages`, { body: aMessage() })
    const query = `messageId=${sent.json.messageId}`
    expect((await ask('GET', `/v1/messages?${query}`, { key: otherKey })).json).toEqual({
      data: [],
      nextCursor: null,
    })
    const { key } = await keyWith(['project:webhooks'])
    expect((await ask('GET', '/v1/messages', { key })).status).toBe(403)
  })

  it.each([
    'user=u',
    'endUserId=%00',
    'text=%00',
    `text=${'x'.repeat(101)}`,
    'state=lost',
    'createdAfter=today',
    'limit=0',
  ])('refuses ?%s', async (query) => {
    const { ask } = await openScene()
    expect((await ask('GET', `/v1/messages?${query}`)).status).toBe(400)
  })
})
