import { describe, expect, it } from 'vitest'
import { chatOf, openScene, readerOf, said, textIn, typesOf } from './scene.js'

async function jsonOf<T>(response: Response): Promise<T> {
  return (await response.json()) as T
}

/** Opens a scene in which the agent `slow` has got a message. */
async function openRun() {
  const scene = await openScene()
  const response = await scene.send('slow', 'Hi')
  const reader = readerOf(response)
  await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
  const [run] = scene.runtime.requests
  if (!run) throw new Error('expected a run')
  return { ...scene, reader, response, run }
}

describe('a message of a chat', () => {
  it('is answered with the chunks of a UI message stream', async () => {
    const { messagesOf, read, send } = await openScene()
    const response = await send('echo', 'Hello')
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-accel-buffering': 'no',
      'cache-control': 'no-cache, no-transform',
    })
    const [message] = await messagesOf('echo')
    expect(message).toMatchObject({ sessionId: 'chat-1', message: 'Hello' })
    expect(await read(response)).toEqual([
      { type: 'start', messageId: message?.id },
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'Hello' },
      { type: 'text-end', id: 'text-1' },
      { type: 'finish', finishReason: 'stop' },
      { type: '[DONE]' },
    ])
  })

  it('is the newest one of the user, with or without the others', async () => {
    const { ask, messagesOf } = await openScene()
    const earlier = [said('1', 'one'), { id: 'a', role: 'assistant', parts: [] }]
    await ask('POST', 'echo', chatOf('chat-1', [...earlier, said('2', 'two')]))
    await ask('POST', 'echo', { id: 'chat-1', message: said('3', 'three') })
    expect((await messagesOf('echo')).map(({ message }) => message)).toEqual(['two', 'three'])
  })

  it('is stored once for each id of a chat', async () => {
    const { messagesOf, read, send } = await openScene()
    const [first, again] = [await send('echo', 'Hello'), await send('echo', 'Hello')]
    expect(await read(again)).toEqual(await read(first))
    await send('echo', 'Hello', { chat: 'chat-2' })
    expect(await messagesOf('echo')).toHaveLength(2)
    const changed = await send('echo', 'Goodbye', { id: 'Hello' })
    expect([changed.status, await changed.json()]).toMatchObject([
      422,
      { error: { message: expect.stringMatching(/^message\.id was already used/) } },
    ])
  })

  it('goes on when its reader leaves', async () => {
    const { messagesOf, reader, run, runtime } = await openRun()
    await reader.until('start')
    await reader.leave()
    runtime.answer(run.messageId, 'Hello')
    const state = async () => (await messagesOf('slow'))[0]?.state.kind
    await expect.poll(state).toBe('responded')
  })

  it('brings files and data, which a kind of agent can refuse', async () => {
    const { ask, messagesOf, texts } = await openScene()
    const parts = [
      { type: 'text', text: 'See' },
      {
        type: 'file',
        url: 'https://files.example/a.png',
        mediaType: 'image/png',
        filename: 'a.png',
      },
      { type: 'data-place', id: 'p', data: { city: 'Ulm' } },
    ]
    const body = chatOf('chat-1', [{ id: '1', role: 'user', parts }])
    expect((await ask('POST', 'slow', body)).status).toBe(200)
    const [message] = await messagesOf('slow')
    expect([message?.message, message?.inputParts]).toEqual([
      'See',
      [parts[1], { type: 'data', name: 'place', id: 'p', data: { city: 'Ulm' } }],
    ])
    const refused = await ask('POST', 'texts', body)
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('the agent takes text only'),
    ])
    expect(texts.requests).toEqual([])
    expect(await messagesOf('texts')).toEqual([])
  })

  it.each<[string, object]>([
    [
      'message.parts.1.url must be an http',
      chatOf('c', [withPart({ type: 'file', url: 'data:text/plain,Hi', mediaType: 'text/plain' })]),
    ],
    [
      'message.parts.1 must be a text, a file with a URL, or data',
      chatOf('c', [withPart({ type: 'reasoning', text: 'Hm' })]),
    ],
    ['message.parts must have a text', chatOf('c', [{ ...said('1', ''), parts: [] }])],
    ['message.parts must be a list', chatOf('c', [{ id: '1', role: 'user', content: 'Hi' }])],
    [
      'must end with a message of the user',
      chatOf('c', [said('1', 'Hi'), { ...said('2', 'Ho'), role: 'assistant' }]),
    ],
    ['messages must end with a message', { id: 'c', messages: [] }],
    ['message.id must be a text', chatOf('c', [{ ...said('', 'Hi') }])],
    ['id must be a text', { messages: [said('1', 'Hi')] }],
    ['trigger must be', { ...chatOf('c', [said('1', 'Hi')]), trigger: 'other' }],
    ['message.metadata must be', chatOf('c', [{ ...said('1', 'Hi'), metadata: [] }])],
    ['endUserId must be', { ...chatOf('c', [said('1', 'Hi')]), endUserId: 7 }],
  ])('is refused, and nothing is stored: %s', async (problem, body) => {
    const { ask, messagesOf } = await openScene()
    const response = await ask('POST', 'slow', body)
    const text = await response.text()
    expect([response.status, text]).toEqual([400, expect.stringContaining(problem)])
    expect(await messagesOf('slow')).toEqual([])
  })
})

const withPart = (part: object) => ({
  ...said('1', 'See'),
  parts: [{ type: 'text', text: 'See' }, part],
})

describe('a stream', () => {
  it('ends with ANSWER_SUPERSEDED if the agent starts again, and a later one has the answer', async () => {
    const { ask, clock, reader, run, runtime } = await openRun()
    run.emit('void')
    await reader.until('text-delta')
    runtime.fail(run.messageId, 'a passing failure', { retryable: true })
    await expect
      .poll(async () => {
        await clock.advance(1_000)
        return runtime.openRuns.length
      })
      .toBe(1)
    const resumed = readerOf(await ask('GET', 'slow/chat-1/stream'))
    runtime.requests[1]?.emit('Ans')
    expect((await reader.all()).slice(-3)).toEqual([
      { type: 'text-end', id: 'text-1' },
      { type: 'error', errorText: 'ANSWER_SUPERSEDED' },
      { type: '[DONE]' },
    ])
    runtime.answer(run.messageId, 'Answer')
    expect(textIn(await resumed.all())).toBe('Answer')
  })

  it('ends with the failure of the run', async () => {
    const { reader, run, runtime } = await openRun()
    runtime.fail(run.messageId, 'told to fail')
    expect((await reader.all()).slice(-2)).toEqual([
      { type: 'error', errorText: 'RUNTIME_ERROR: told to fail' },
      { type: '[DONE]' },
    ])
  })

  it('ends with an error if the service stops, or its key is revoked', async () => {
    const stopped = await openRun()
    const chunks = stopped.reader.all()
    await stopped.service.stop({ graceMs: 0 })
    expect((await chunks).slice(-2, -1)).toEqual([
      { type: 'error', errorText: 'STREAM_INTERRUPTED' },
    ])
    const { clock, projectId, reader, service } = await openRun()
    const ended = reader.all()
    for (const { id } of (await service.keys.list({ projectId })).data)
      await service.keys.revoke({ projectId, keyId: id })
    for (let waited = 0; waited < 30_000; waited += 1_000) await clock.advance(1_000)
    expect((await ended).slice(-2, -1)).toEqual([{ type: 'error', errorText: 'UNAUTHORIZED' }])
  })

  it('is replayed from its start while the message is open', async () => {
    const { ask, reader, run, runtime, send } = await openRun()
    await send('slow', 'later')
    run.emit('Hel')
    const [start] = await reader.until('text-delta')
    const resumed = readerOf(await ask('GET', 'slow/chat-1/stream'))
    expect(await resumed.until('text-delta')).toEqual([
      start,
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'Hel' },
    ])
    run.emit('lo')
    runtime.answer(run.messageId, 'Hello')
    expect(await resumed.all()).toEqual(await reader.all())
    expect((await ask('HEAD', 'slow/chat-1/stream')).status).toBe(405)
  })

  it('does not exist without an open message', async () => {
    const { ask, read, send } = await openScene()
    expect((await ask('GET', 'echo/chat-1/stream')).status).toBe(204)
    await read(await send('echo', 'Hello'))
    expect((await ask('GET', 'echo/chat-1/stream')).status).toBe(204)
    expect((await ask('GET', 'nobody/chat-1/stream')).status).toBe(404)
    expect((await ask('GET', 'a%00/chat-1/stream')).status).toBe(404)
    expect((await ask('GET', 'echo/a%00/stream')).status).toBe(404)
  })
})

describe('the messages of a chat', () => {
  it('have the ids of the streams, and the metadata of the client', async () => {
    const { ask, read } = await openScene()
    const message = { ...said('m-1', 'Hello'), metadata: { channel: 'web' } }
    const [start] = await read(await ask('POST', 'echo', chatOf('ada/1', [message])))
    expect(await jsonOf(await ask('GET', 'echo/ada%2F1/messages'))).toEqual([
      message,
      {
        id: start?.['messageId'],
        role: 'assistant',
        parts: [{ type: 'text', text: 'Hello', state: 'done' }],
      },
    ])
    expect(await jsonOf(await ask('GET', 'echo/other/messages'))).toEqual([])
  })

  it('are those of other senders too, and show why an answer is missing', async () => {
    const { ask, projectId, reader, run, runtime, service } = await openRun()
    runtime.fail(run.messageId, 'told to fail')
    await reader.all()
    const sent = { projectId, agent: 'slow', sessionId: 'chat-1', message: 'Hi', waitMs: 0 }
    const { message } = await service.messages.send(sent)
    expect(await jsonOf(await ask('GET', 'slow/chat-1/messages'))).toMatchObject([
      { id: 'Hi', role: 'user' },
      {
        id: run.messageId,
        role: 'assistant',
        parts: [{ type: 'data-error', data: { code: 'RUNTIME_ERROR', message: 'told to fail' } }],
      },
      { id: `user-${message.id}`, role: 'user' },
    ])
  })
})

describe('stop', () => {
  it('cancels the open messages, and a stream ends with abort', async () => {
    const { ask, messagesOf, reader, run, send } = await openRun()
    await send('slow', 'later')
    run.emit('Hel')
    await reader.until('text-delta')
    expect((await ask('POST', 'slow/chat-1/stop')).status).toBe(204)
    expect(typesOf(await reader.all()).slice(-3)).toEqual(['text-end', 'abort', '[DONE]'])
    const kinds = (await messagesOf('slow')).map(({ state }) => state.kind)
    expect(kinds).toEqual(['cancelled', 'cancelled'])
    expect((await ask('POST', 'slow/chat-1/stop')).status).toBe(204)
  })
})

describe('regenerate-message', () => {
  const trigger = 'regenerate-message'

  it('retries a message that failed', async () => {
    const { reader, run, runtime, send } = await openRun()
    runtime.fail(run.messageId, 'told to fail')
    await reader.all()
    const again = readerOf(await send('slow', 'Hi', { trigger, messageId: run.messageId }))
    expect(await again.until('start')).toEqual([{ type: 'start', messageId: run.messageId }])
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    runtime.answer(run.messageId, 'Hello')
    expect(textIn(await again.all())).toBe('Hello')
  })

  it('refuses a message that is open, answered or unknown', async () => {
    const { messagesOf, run, runtime, send, reader } = await openRun()
    const refused = async (text: string) => (await send('slow', text, { trigger })).status
    expect(await refused('Hi')).toBe(400)
    runtime.answer(run.messageId, 'Hello')
    await reader.all()
    expect(await refused('Hi')).toBe(400)
    expect(await refused('unknown')).toBe(400)
    expect(await messagesOf('slow')).toHaveLength(1)
  })
})

describe('a question', () => {
  async function openQuestion() {
    const scene = await openScene({
      pay: async ({ ask }) => `Paid: ${await ask('Pay?', { options: ['yes', 'no'] })}`,
    })
    const chunks = await scene.read(await scene.send('pay', 'Order it'))
    const question = chunks.find(({ type }) => type === 'data-question')
    const inputId = String(question?.['id'])
    const answer = (value: unknown, id = inputId) =>
      scene.ask('POST', 'pay/chat-1/answer', { inputId: id, value })
    return { ...scene, answer, chunks, inputId, question }
  }

  it('is a chunk, and the stream finishes', async () => {
    const { ask, chunks, inputId, question } = await openQuestion()
    expect(typesOf(chunks)).toEqual(['start', 'data-question', 'finish', '[DONE]'])
    expect(question?.['data']).toMatchObject({
      id: inputId,
      question: 'Pay?',
      options: ['yes', 'no'],
      expiresAt: expect.any(String),
    })
    expect((await ask('GET', 'pay/chat-1/stream')).status).toBe(204)
    const messages = await jsonOf<object[]>(await ask('GET', 'pay/chat-1/messages'))
    expect(messages[1]).toMatchObject({ id: chunks[0]?.['messageId'], parts: [question] })
  })

  it('is answered once, and the chat goes on', async () => {
    const { answer, ask, chunks, inputId, messagesOf, read, send } = await openQuestion()
    expect((await answer('perhaps')).status).toBe(400)
    expect((await answer('yes', 'no-id')).status).toBe(404)
    expect((await answer('yes')).status).toBe(204)
    expect((await answer('yes')).status).toBe(204)
    expect((await answer('no')).status).toBe(409)
    const state = async () => (await messagesOf('pay'))[0]?.state.kind
    await expect.poll(state).toBe('responded')
    const again = await read(await send('pay', 'Order it'))
    expect(again.slice(0, 2)).toMatchObject([
      chunks[0],
      { type: 'data-question', id: inputId, data: { answer: { value: 'yes' } } },
    ])
    expect(textIn(again)).toBe('Paid: yes')
    const messages = await jsonOf<object[]>(await ask('GET', 'pay/chat-1/messages'))
    expect(messages[1]).toMatchObject({
      parts: [{ type: 'data-question' }, { type: 'text', text: 'Paid: yes' }],
    })
  })
})

describe('a caller', () => {
  it('needs a key with the permission of the route', async () => {
    const { ask, keyWith } = await openScene()
    const reader = await keyWith(['project:read'])
    const body = chatOf('chat-1', [said('1', 'Hi')])
    expect((await ask('POST', 'echo', body, 'wrong')).status).toBe(401)
    expect((await ask('POST', 'echo', body, reader)).status).toBe(403)
    expect((await ask('GET', 'echo/chat-1/messages', undefined, reader)).status).toBe(200)
    expect((await ask('POST', 'echo/chat-1/stop', undefined, reader)).status).toBe(403)
    expect((await ask('POST', 'echo/chat-1/answer', {}, reader)).status).toBe(403)
    expect((await ask('GET', 'echo/chat-1/other')).status).toBe(404)
    expect((await ask('POST', 'echo', '{')).status).toBe(400)
    expect((await ask('POST', 'echo', 'x'.repeat(2 ** 20 + 1))).status).toBe(413)
  })

  it('with a session token reaches only the chats of the token', async () => {
    const { ask, projectId, read, send, service } = await openScene()
    await send('echo', 'of bob', { chat: 'bob/1' })
    const { token } = await service.sessionTokens.create({
      projectId,
      sessions: { prefix: 'ada/' },
    })
    const as = (method: string, path: string, body?: object) => ask(method, path, body, token)
    const own = await as('POST', 'echo', chatOf('ada/1', [said('1', 'Hi')]))
    expect(textIn(await read(own))).toBe('Hi')
    const other = await as('POST', 'echo', chatOf('bob/1', [said('1', 'Hi')]))
    expect(other.status).toBe(404)
    expect(await jsonOf(await as('GET', 'echo/bob%2F1/messages'))).toEqual([])
    expect(await jsonOf(await as('GET', 'echo/ada%2F1/messages'))).toHaveLength(2)
    expect((await as('POST', 'echo/bob%2F1/stop')).status).toBe(204)
    expect((await as('GET', 'echo/bob%2F1/stream')).status).toBe(204)
  })
})
