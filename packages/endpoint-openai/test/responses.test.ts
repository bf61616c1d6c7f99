import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import type { RequestFacts } from '@org/agent-messaging-http-kit'
import { errorOf } from './error-of.js'
import { openScene } from './scene.js'

describe('a response', () => {
  it('is the answer of the agent that `model` names', async () => {
    const { client } = await openScene()
    const response = await client.responses.create({ model: 'echo', input: 'Hello' })
    expect(response.output_text).toBe('Hello')
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: 'echo' })
  })

  it('is found by its id', async () => {
    const { client } = await openScene()
    const created = await client.responses.create({
      model: 'echo',
      input: 'Hello',
      metadata: { channel: 'C1' },
    })
    const read = await client.responses.retrieve(created.id)
    expect(read).toEqual(created)
    expect(read.metadata).toEqual({ channel: 'C1' })
  })

  it('continues the session of `previous_response_id`', async () => {
    const { client, messagesOf } = await openScene()
    const first = await client.responses.create({ model: 'echo', input: 'one' })
    const next = { model: 'echo', input: 'two', previous_response_id: first.id }
    const second = await client.responses.create(next)
    const [one, two] = await messagesOf('echo')
    expect(two?.sessionId).toBe(one?.sessionId)
    expect(second.previous_response_id).toBe(first.id)
    expect((await client.responses.retrieve(second.id)).previous_response_id).toBe(first.id)
  })

  it('branches off an older response into a new session with its past', async () => {
    const { client, messagesOf, runtime } = await openScene()
    const send = async (input: string, previousId?: string, key?: string) => {
      const body = { model: 'slow', input, previous_response_id: previousId ?? null }
      const options = key === undefined ? {} : { headers: { 'Idempotency-Key': key } }
      const waiting = client.responses.create(body, options)
      const isRunning = () => runtime.requests.at(-1)?.message === input
      await expect.poll(isRunning).toBe(true)
      const [open] = runtime.openRuns
      if (open !== undefined) runtime.answer(open, `answer to ${input}`)
      return waiting
    }
    const first = await send('one')
    const second = await send('two', first.id)
    await send('three', second.id)
    const branch = await send('another two', first.id, 'k-1')
    expect(branch.conversation).not.toEqual(first.conversation)
    const past = await runtime.requests.at(-1)?.history({ maxTurns: 9, maxLength: 999 })
    expect(past?.map(({ message, response }) => [message, response])).toEqual([
      ['one', 'answer to one'],
    ])
    expect((await send('another two', first.id, 'k-1')).id).toBe(branch.id)
    expect(await messagesOf('slow')).toHaveLength(4)
  })

  it.each([0, 2 ** 40])('branches off if a past has at most %d characters', async (length) => {
    const limits = { ...defaultLimits, earlierTurnsLength: length }
    const { client } = await openScene({}, { limits })
    const first = await client.responses.create({ model: 'echo', input: 'one' })
    const behind = { model: 'echo', previous_response_id: first.id }
    await client.responses.create({ ...behind, input: 'two' })
    const branch = await client.responses.create({ ...behind, input: 'another two' })
    const items = await client.responses.inputItems.list(branch.id)
    expect(items.data).toHaveLength(length === 0 ? 1 : 3)
    const said = (role: 'user' | 'assistant') => ({ role, content: 'x' }) as const
    const long = [said('user'), said('assistant'), said('user')]
    const answered = client.responses.create({ ...behind, input: long }).catch(String)
    if (length === 0) expect(await answered).toContain('input must have at most 0 ')
    else expect(await answered).toMatchObject({ status: 'completed' })
  })

  it.each(['reuse', 'reject'] as const)(
    'is repeated with its key while others follow, if keys of other requests are to %s',
    async (onKeyMismatch) => {
      const { client, messagesOf } = await openScene({}, { onKeyMismatch })
      const first = await client.responses.create({ model: 'echo', input: 'one' })
      const next = { model: 'echo', input: 'two', previous_response_id: first.id }
      const send = () => client.responses.create(next, { headers: { 'Idempotency-Key': 'k-1' } })
      const second = await send()
      const third = { model: 'echo', input: 'three', previous_response_id: second.id }
      await client.responses.create(third)
      expect((await send()).id).toBe(second.id)
      expect(await messagesOf('echo')).toHaveLength(3)
    },
  )

  it('belongs to the session that `conversation` names', async () => {
    const { client, messagesOf } = await openScene()
    const conversation = 'chat-1'
    await client.responses.create({ model: 'echo', input: 'one', conversation })
    const body = { model: 'echo', input: 'two', conversation: { id: conversation } }
    expect((await client.responses.create(body)).conversation).toEqual({ id: conversation })
    expect((await messagesOf('echo')).map(({ sessionId }) => sessionId)).toEqual([
      'chat-1',
      'chat-1',
    ])
  })

  it('has a new session otherwise', async () => {
    const { client, messagesOf } = await openScene()
    await client.responses.create({ model: 'echo', input: 'one' })
    await client.responses.create({ model: 'echo', input: 'two' })
    const sessions = (await messagesOf('echo')).map(({ sessionId }) => sessionId)
    expect(new Set(sessions).size).toBe(2)
  })

  it('starts its message with the instructions', async () => {
    const { client } = await openScene()
    const { output_text: text } = await client.responses.create({
      model: 'echo',
      instructions: 'Be brief.',
      input: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      ],
    })
    expect(text).toBe('Be brief.\n\nBe kind.\n\nHello')
  })

  it.each(['user', 'safety_identifier'])(
    'runs on behalf of the end user of `%s`',
    async (field) => {
      const { client, messagesOf } = await openScene()
      await client.responses.create({ model: 'echo', input: 'Hello', [field]: 'u-17' })
      const [message] = await messagesOf('echo')
      expect(message?.executionPrincipal).toEqual({ type: 'end_user', endUserId: 'u-17' })
    },
  )

  it('is made once for a repeated Idempotency-Key', async () => {
    const { client, messagesOf } = await openScene()
    const send = () =>
      client.responses
        .create({ model: 'echo', input: 'Hello' }, { headers: { 'Idempotency-Key': 'k-1' } })
        .withResponse()
    const [first, second] = [await send(), await send()]
    expect(second.data).toEqual(first.data)
    expect(second.response.headers.get('idempotent-replayed')).toBe('true')
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it.each(['reuse', 'reject'] as const)(
    'is refused with the Idempotency-Key of another conversation, end user or text (%s)',
    async (onKeyMismatch) => {
      const { client, messagesOf } = await openScene({}, { onKeyMismatch })
      const model = 'echo'
      const pin = 'my pin is 4711'
      const theirs = await client.responses.create({ model, input: 'one', user: 'u-1' })
      const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } })
      await client.responses.create({ model, input: pin, user: 'u-1' }, keyed('k-1'))
      await client.responses.create({ model, input: pin, conversation: 'c-1' }, keyed('k-2'))
      const messages = [{ role: 'user' as const, content: pin }]
      const refused = [
        client.responses.create({ model, input: pin, user: 'u-2' }, keyed('k-1')),
        client.responses.create({ model, input: pin, conversation: 'c-2' }, keyed('k-2')),
        client.responses.create(
          { model, input: pin, previous_response_id: theirs.id },
          keyed('k-2'),
        ),
        client.responses.create({ model, input: pin, stream: true }, keyed('k-2')),
        client.responses.create({ model, input: 'Hello', user: 'u-1' }, keyed('k-1')),
        client.chat.completions.create(
          { model, messages: [{ role: 'user', content: 'Hello' }, ...messages], user: 'u-1' },
          keyed('k-1'),
        ),
        client.chat.completions.create({ model, messages, user: 'u-2' }, keyed('k-1')),
        client.chat.completions.create(
          { model, messages, metadata: { session_id: 'c-2' }, stream: true },
          keyed('k-2'),
        ),
      ]
      const stored = await messagesOf('echo')
      for (const error of await Promise.all(refused.map(errorOf))) {
        expect([error.status, error.code]).toEqual([422, 'idempotency_mismatch'])
        const seen = JSON.stringify([error.error, [...(error.headers ?? [])]])
        for (const { id, sessionId } of stored)
          for (const part of [id, sessionId, '4711', 'idempotent-replayed'])
            expect(seen).not.toContain(part)
      }
      expect(await messagesOf('echo')).toHaveLength(3)
    },
  )

  it('has the status `failed` and the error of a failed run', async () => {
    const { client } = await openScene()
    const response = await client.responses.create({ model: 'failing', input: 'Hello' })
    expect(response.status).toBe('failed')
    const code = expect.any(String) as string
    const error = { type: 'server_error', code, message: 'told to fail', param: null }
    expect(response.error).toEqual(error)
  })

  it('waits longer than one send of the service', async () => {
    const { client, clock, runtime } = await openScene()
    const waiting = client.responses.create({ model: 'slow', input: 'Hello' })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    await clock.advance(45_000)
    runtime.answer(runtime.openRuns[0] ?? '', 'At last')
    expect((await waiting).output_text).toBe('At last')
  })

  it('is in progress if the agent has not answered after the longest wait', async () => {
    const { client, clock, runtime } = await openScene()
    const waiting = client.responses.create({ model: 'slow', input: 'Hello' })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    for (let waited = 0; waited < 620_000; waited += 20_000) await clock.advance(20_000)
    expect((await waiting).status).toMatch(/in_progress|queued/)
  })
})

describe('a background response', () => {
  it('is returned at once, and is polled', async () => {
    const { client, runtime } = await openScene()
    const body = { model: 'slow', input: 'Hello', background: true }
    const { id, status, background } = await client.responses.create(body)
    expect([status, background]).toEqual(['in_progress', true])
    runtime.answer(runtime.openRuns[0] ?? '', 'Done')
    await expect.poll(async () => (await client.responses.retrieve(id)).status).toBe('completed')
    expect((await client.responses.retrieve(id)).output_text).toBe('Done')
  })

  it('can be cancelled', async () => {
    const { client } = await openScene()
    const body = { model: 'slow', input: 'Hello', background: true }
    const { id } = await client.responses.create(body)
    expect((await client.responses.cancel(id)).status).toBe('cancelled')
    expect((await client.responses.retrieve(id)).status).toBe('cancelled')
  })

  it('cannot be cancelled after its answer', async () => {
    const { client } = await openScene()
    const { id } = await client.responses.create({ model: 'echo', input: 'Hello' })
    expect(await errorOf(client.responses.cancel(id))).toMatchObject({
      status: 400,
      code: 'response_final',
    })
  })
})

describe('access', () => {
  it('is refused without a valid key', async () => {
    const { clientOf } = await openScene()
    const call = clientOf('amk_wrong').responses.create({ model: 'echo', input: 'Hello' })
    expect(await errorOf(call)).toMatchObject({ status: 401, code: 'invalid_api_key' })
  })

  it.each([
    ['responses', (client: OpenAI) => client.responses.create({ model: 'echo', input: 'Hello' })],
    ['models', (client: OpenAI) => client.models.list()],
  ])('to %s is refused without its permission', async (_, call) => {
    const { clientOf, keyWith } = await openScene()
    const client = clientOf(await keyWith(['project:webhooks']))
    expect(await errorOf(call(client))).toMatchObject({
      status: 403,
      code: 'insufficient_permissions',
    })
  })

  it('is refused to a revoked key that was valid before', async () => {
    const { client, projectId, service } = await openScene()
    await client.responses.create({ model: 'echo', input: 'Hello' })
    const keys = (await service.keys.list({ projectId, limit: 10 })).data
    for (const { id } of keys) await service.keys.revoke({ projectId, keyId: id })
    const call = client.responses.create({ model: 'echo', input: 'Hello' })
    expect(await errorOf(call)).toMatchObject({ status: 401 })
  })

  it('that the storage does not confirm is refused, without a look at its key', async () => {
    const { client, clock, storage } = await openScene()
    await client.responses.create({ model: 'echo', input: 'Hello' })
    const silence = new AbortController()
    const slowUntil = once(silence.signal, 'abort')
    storage.fail('messages.accept', { slowUntil })
    storage.fail('credentials.findByDigest', { slowUntil, times: Infinity })
    const refusing = errorOf(client.responses.create({ model: 'echo', input: 'Hello' }))
    await clock.until(() => Promise.race([refusing.then(() => true), sleep(1, false)]))
    silence.abort()
    expect(await refusing).toMatchObject({
      status: 503,
      code: 'unavailable',
      message: expect.stringContaining('Repeat the send with the same Idempotency-Key'),
    })
  })

  it('to a response of another project is answered as to a missing one', async () => {
    const { client, clientOf, otherKey } = await openScene()
    const { id } = await client.responses.create({ model: 'echo', input: 'Hello' })
    const other = clientOf(otherKey)
    const missing = { status: 404, code: 'response_not_found' }
    expect(await errorOf(other.responses.retrieve(id))).toMatchObject(missing)
    expect(await errorOf(other.responses.cancel(id))).toMatchObject(missing)
    expect(await errorOf(client.responses.retrieve('resp_1'))).toMatchObject(missing)
    const call = other.responses.create({ model: 'echo', input: 'Hello' })
    expect(await errorOf(call)).toMatchObject({ status: 404, code: 'model_not_found' })
  })
})

describe('models', () => {
  it('are the agents of the project', async () => {
    const { client, clientOf, otherKey } = await openScene()
    const { data } = await client.models.list()
    expect(data.map(({ id }) => id).sort()).toEqual([
      'asking',
      'counting',
      'echo',
      'failing',
      'slow',
    ])
    expect(await client.models.retrieve('echo')).toMatchObject({ id: 'echo', object: 'model' })
    expect((await clientOf(otherKey).models.list()).data).toEqual([])
    expect(await errorOf(client.models.retrieve('nobody'))).toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
  })
})

it('all agents are listed, also more than a page', async () => {
  const { agentWith, client } = await openScene()
  for (let n = 0; n < 101; n++) await agentWith(`agent-${n}`, { desiredState: 'stopped' })
  expect(new Set((await client.models.list()).data.map(({ id }) => id)).size).toBe(106)
})

describe('a field that cannot be honoured is refused', () => {
  const user = (content: unknown) => [{ role: 'user', content }]
  it.each([
    [{ tools: [{ type: 'function', name: 'f' }] }, 'tools'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ text: { format: { type: 'grammar' } } }, 'text.format'],
    [{ text: { format: { type: 'json_schema', name: 'a' } } }, 'text.format'],
    [{ text: { format: 'json_object' } }, 'text.format'],
    [{ include: ['reasoning.encrypted_content'] }, 'include'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ nothing: 1 }, 'nothing'],
    [{ toString: 1 }, 'toString'],
    [{ background: 'yes' }, 'background'],
    [{ metadata: { a: 1 } }, 'metadata'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'c', previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ input: [] }, 'input'],
    [{ input: [{ role: 'system', content: 'Be kind.' }] }, 'input'],
    [{ input: [{ role: 'assistant', content: 'Hi' }, ...user('Hello')] }, 'input[0].role'],
    [{ input: user([{ type: 'input_image', image_url: 'data:,' }]) }, 'input[0].content[0].type'],
    [{ input: user([{ type: 'input_file', file_id: 'f' }]) }, 'input[0].content[0].type'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, 'input[0].type'],
    [{ input: [{ type: 'item_reference', id: 1 }] }, 'input[0].id'],
  ])('%j', async (fields, param) => {
    const { messagesOf, refusalOf } = await openScene()
    const answer = await refusalOf('/responses', { model: 'echo', input: 'Hello', ...fields })
    expect(answer).toMatchObject([400, { type: 'invalid_request_error', param }])
    expect(await messagesOf('echo')).toEqual([])
  })
})

describe('errors', () => {
  it('have the fields of OpenAI', async () => {
    const { refusalOf } = await openScene()
    expect(await refusalOf('/responses', { input: 'Hello' })).toEqual([
      400,
      {
        message: 'model must be the name of an agent',
        type: 'invalid_request_error',
        param: 'model',
        code: 'invalid_value',
      },
    ])
  })

  it('name a route that does not exist', async () => {
    const { refusalOf } = await openScene()
    expect(await refusalOf('/embeddings', {})).toMatchObject([404, { code: 'unknown_url' }])
  })

  it('name the user that the agent needs', async () => {
    const { agentWith, refusalOf } = await openScene()
    await agentWith('personal', { defaultExecutionPrincipal: { type: 'end_user' } })
    const answer = await refusalOf('/responses', { model: 'personal', input: 'Hello' })
    expect(answer).toMatchObject([400, { param: 'user' }])
  })
})

describe('requests', () => {
  it('are reported with their route, and keep the id of the caller', async () => {
    const facts: RequestFacts[] = []
    const { app, key } = await openScene({ onRequest: (fact) => void facts.push(fact) })
    const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'r-1' }
    const answer = await app.request('/openai/v1/responses/resp_1', { headers })
    expect(answer.headers.get('x-request-id')).toBe('r-1')
    await app.request('/openai/v1/nothing')
    expect(facts).toMatchObject([
      { method: 'GET', route: '/openai/v1/responses/:id', status: 404, requestId: 'r-1' },
      { route: '/openai/v1/*', status: 404 },
    ])
    expect(facts[0]).toHaveProperty('projectId')
  })

  it('have bodies of a limited size', async () => {
    const { refusalOf } = await openScene({ maxBodyBytes: 100 })
    const answer = await refusalOf('/responses', { model: 'echo', input: 'x'.repeat(100) })
    expect(answer).toMatchObject([413, { code: 'request_too_large' }])
  })

  const broad = `{"model":"echo","input":"hi","metadata":{"a":[${'1,'.repeat(20_000)}1]}}`
  it.each(['', '[]', '{', 'null', broad])('with the body %.20s are refused', async (body) => {
    const { app, key } = await openScene()
    const headers = { authorization: `Bearer ${key}` }
    const answer = await app.request('/openai/v1/responses', { method: 'POST', headers, body })
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_json', message: expect.stringContaining('at most 10000 values') } },
    ])
  })

  it('that end early are no failures of the service', async () => {
    const errors: unknown[] = []
    const { app, key } = await openScene({ onError: (error) => void errors.push(error) })
    const headers = { authorization: `Bearer ${key}` }
    const left = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    const body = new ReadableStream({ pull: (controller) => controller.error(left) })
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    const answer = await app.request('/openai/v1/responses', init)
    expect(answer.status).toBe(400)
    const url = 'http://service.test/openai/v1/responses'
    const unread = { method: 'POST', headers, body: '{}', signal: AbortSignal.abort() }
    const request = new Request(url, unread)
    await request.text().catch(() => undefined)
    expect((await app.request(request)).status).toBe(400)
    expect(errors).toEqual([])
  })

  it.each([
    ['/responses', { input: 'a\u0000' }, 'input'],
    ['/responses', { input: 'Hi', conversation: 'a\u0000' }, 'conversation'],
    ['/responses', { input: 'Hi', metadata: { a: 'b\u0000' } }, 'metadata'],
    ['/chat/completions', { messages: [{ role: 'user', content: 'a\u0000' }] }, 'messages'],
    [
      '/chat/completions',
      { messages: [{ role: 'user', content: 'Hi' }], metadata: { session_id: 'a\u0000' } },
      'metadata.session_id',
    ],
  ])('to %s with %j name the field of the request', async (path, body, param) => {
    const { refusalOf } = await openScene()
    const message = expect.stringContaining(`${param} `) as string
    const refused = await refusalOf(path, { model: 'echo', ...body })
    expect(refused).toMatchObject([400, { param, message }])
  })

  it('cannot overwrite the metadata of the service', async () => {
    const { messagesOf, refusalOf } = await openScene()
    const metadata = { openai: 'mine' }
    const refused = await refusalOf('/responses', { model: 'echo', input: 'Hi', metadata })
    expect(refused).toMatchObject([400, { param: 'metadata.openai', code: 'invalid_value' }])
    expect(await messagesOf('echo')).toEqual([])
  })

  it('that fail unexpectedly are reported, and answered in the same shape', async () => {
    const errors: unknown[] = []
    const { refusalOf, service } = await openScene({ onError: (error) => void errors.push(error) })
    vi.spyOn(service.messages, 'send').mockImplementation(() => {
      throw new Error('a defect')
    })
    const answer = await refusalOf('/responses', { model: 'echo', input: 'Hello' })
    expect(answer).toMatchObject([500, { type: 'server_error', code: 'internal_error' }])
    expect(errors).toEqual([new Error('a defect')])
  })
})
