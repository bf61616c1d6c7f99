import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { errorOf } from './error-of.js'
import { openScene } from './scene.js'

type Event = OpenAI.Responses.ResponseStreamEvent

/** Reads a stream step by step. */
function readerOf<T>(stream: AsyncIterable<T>) {
  const iterator = stream[Symbol.asyncIterator]()
  const events: T[] = []
  const read = async (isLast: (event: T) => boolean): Promise<T[]> => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      events.push(next.value)
      if (isLast(next.value)) break
    }
    return events
  }
  return { until: read, all: () => read(() => false) }
}

const allOf = <T>(stream: AsyncIterable<T>): Promise<T[]> => readerOf(stream).all()

const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type)

/** Opens a scene, and starts a streamed response whose run is open. */
async function openStream() {
  const scene = await openScene()
  const stream = await scene.client.responses.create({ model: 'slow', input: 'Hi', stream: true })
  const events = readerOf(stream)
  await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
  const [run] = scene.runtime.requests
  if (!run) throw new Error('expected a run')
  return { ...scene, events, run }
}

const isDelta = ({ type }: Event): boolean => type === 'response.output_text.delta'

describe('a streamed response', () => {
  it('has the events of OpenAI, in order', async () => {
    const { events, run, runtime } = await openStream()
    run.emit('Hel')
    await events.until(isDelta)
    run.emit('lo')
    runtime.answer(run.messageId, 'Hello!')
    const all = await events.all()
    expect(new Set(typesOf(all))).toEqual(
      new Set([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ]),
    )
    expect(all.map(({ sequence_number: number }) => number)).toEqual(all.map((_, index) => index))
    const deltas = all.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    )
    expect(deltas.join('')).toBe('Hello!')
    expect(deltas.length).toBeGreaterThan(1)
    expect(all.at(-1)).toMatchObject({ response: { status: 'completed' } })
  })

  it('is put together by the official client', async () => {
    const { client } = await openScene()
    const stream = client.responses.stream({ model: 'echo', input: 'Hello' })
    const response = await stream.finalResponse()
    expect(response.output_text).toBe('Hello')
    expect(response).toMatchObject({ status: 'completed' })
    const { output_text: text } = await client.responses.retrieve(response.id)
    expect(text).toBe('Hello')
  })

  it('starts a new item when the agent starts again', async () => {
    const { clock, events, run, runtime } = await openStream()
    run.emit('void')
    await events.until(isDelta)
    runtime.fail(run.messageId, 'a passing failure', { retryable: true })
    await expect
      .poll(async () => {
        await clock.advance(1_000)
        return runtime.openRuns.length
      })
      .toBe(1)
    runtime.answer(run.messageId, 'Answer')
    const all = await events.all()
    const done = all.flatMap((event) =>
      event.type === 'response.output_item.done' ? [event.item] : [],
    )
    expect(done).toMatchObject([{ status: 'incomplete' }, { status: 'completed' }])
    const last = all.at(-1)
    expect(last?.type === 'response.completed' && last.response.output).toMatchObject([
      { id: (done[1] as { id: string }).id, content: [{ text: 'Answer' }] },
    ])
  })

  it('ends with the failure of the run', async () => {
    const { client } = await openScene()
    const body = { model: 'failing', input: 'Hello', stream: true } as const
    const last = (await allOf(await client.responses.create(body))).at(-1)
    expect(last).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { message: 'told to fail' } },
    })
  })

  it('ends with an error if the service stops', async () => {
    const { events, service } = await openStream()
    const failed = errorOf(events.all())
    await service.stop({ graceMs: 0 })
    expect(await failed).toMatchObject({ code: 'stream_interrupted' })
  })

  it('is refused, and not repeated by a client, if too many streams are open', async () => {
    const { client, service } = await openScene()
    const { maxPerProject } = service.policy.stream
    const body = { model: 'slow', input: 'Hi', stream: true } as const
    for (let open = 0; open < maxPerProject; open++) await client.responses.create(body)
    const error = await errorOf(client.responses.create(body))
    expect(error).toMatchObject({ status: 429, code: 'too_many_streams' })
    expect(error.headers?.get('x-should-retry')).toBe('false')
  })

  it('ends after its key was revoked', async () => {
    const { clock, events, projectId, service } = await openStream()
    const failed = errorOf(events.all())
    const keys = (await service.keys.list({ projectId, limit: 10 })).data
    for (const { id } of keys) await service.keys.revoke({ projectId, keyId: id })
    for (let waited = 0; waited < 30_000; waited += 1_000) await clock.advance(1_000)
    expect(await failed).toMatchObject({ code: 'invalid_api_key' })
  })

  it('of a background response is read later', async () => {
    const { client, runtime } = await openScene()
    const body = { model: 'slow', input: 'Hello', background: true }
    const { id } = await client.responses.create(body)
    const events = allOf(await client.responses.retrieve(id, { stream: true }))
    runtime.answer(runtime.openRuns[0] ?? '', 'Done')
    expect((await events).at(-1)).toMatchObject({ type: 'response.completed', response: { id } })
  })
})

describe('a chat completion', () => {
  const messages = [{ role: 'user', content: 'Hello' }] as const

  it('is the answer of the agent', async () => {
    const { client } = await openScene()
    const completion = await client.chat.completions.create({
      model: 'echo',
      messages: [{ role: 'system', content: 'Be kind.' }, ...messages],
      temperature: 0.5,
      max_tokens: 100,
    })
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'echo',
      choices: [{ finish_reason: 'stop', message: { content: 'Be kind.\n\nHello' } }],
    })
  })

  it('gives the agent the earlier messages as the past of a new session', async () => {
    const { client, runtime } = await openScene()
    const waiting = client.chat.completions.create({
      model: 'slow',
      messages: [
        { role: 'user', content: 'My name is' },
        { role: 'user', content: 'Alice.' },
        { role: 'assistant', content: 'Hello Alice!' },
        { role: 'user', content: 'What is my name?' },
      ],
    })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const [run] = runtime.requests
    expect(run?.message).toBe('What is my name?')
    expect(await run?.history({ maxTurns: 10, maxLength: 1_000 })).toMatchObject([
      { message: 'My name is\n\nAlice.', response: 'Hello Alice!' },
    ])
    runtime.answer(run?.messageId ?? '', 'Alice')
    expect((await waiting).choices[0]?.message.content).toBe('Alice')
  })

  it('belongs to the session that `metadata.session_id` names', async () => {
    const { client, messagesOf } = await openScene()
    await client.chat.completions.create({
      model: 'echo',
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'one' },
        { role: 'user', content: 'two' },
      ],
      metadata: { session_id: 'chat-1', channel: 'C1' },
    })
    expect(await messagesOf('echo')).toMatchObject([
      { sessionId: 'chat-1', message: 'two', metadata: { channel: 'C1' } },
    ])
  })

  it('is made once for a repeated Idempotency-Key', async () => {
    const { client, messagesOf } = await openScene()
    const headers = { 'Idempotency-Key': 'k-1' }
    const send = () =>
      client.chat.completions.create({ model: 'echo', messages: [...messages] }, { headers })
    expect(await send()).toEqual(await send())
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it('is an error that clients do not repeat if the agent fails', async () => {
    const { client } = await openScene()
    const call = client.chat.completions.create({ model: 'failing', messages: [...messages] })
    const error = await errorOf(call)
    expect(error).toMatchObject({ status: 422, type: 'server_error' })
  })

  it('is streamed in chunks that the official client puts together', async () => {
    const { client } = await openScene()
    const stream = client.chat.completions.stream({ model: 'echo', messages: [...messages] })
    expect(await stream.finalContent()).toBe('Hello')
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]?.finish_reason).toBe('stop')
  })

  it('ends its stream with an error if the agent starts again or fails', async () => {
    const { client, runtime } = await openScene()
    const body = { messages: [...messages], stream: true as const }
    const stream = await client.chat.completions.create({ ...body, model: 'slow' })
    const chunks = readerOf(stream)
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const [run] = runtime.requests
    run?.emit('void')
    await chunks.until(({ choices }) => choices[0]?.delta.content === 'void')
    runtime.answer(run?.messageId ?? '', 'Another answer')
    expect(await errorOf(chunks.all())).toMatchObject({ code: 'answer_superseded' })
    const failing = await client.chat.completions.create({ ...body, model: 'failing' })
    expect(await errorOf(allOf(failing))).toMatchObject({ type: 'server_error' })
  })

  it.each([
    [{ n: 2 }, 'n'],
    [{ stop: ['x'] }, 'stop'],
    [{ logprobs: true }, 'logprobs'],
    [{ response_format: { type: 'json_schema', json_schema: {} } }, 'response_format'],
    [{ modalities: ['audio'] }, 'modalities'],
    [{ tools: [{ type: 'function' }] }, 'tools'],
    [{ logit_bias: { 1: 1 } }, 'logit_bias'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0].type',
    ],
    [{ messages: [{ role: 'tool', content: '' }] }, 'messages[0].role'],
  ])('refuses %j', async (fields, param) => {
    const { refusalOf } = await openScene()
    const answer = await refusalOf('/chat/completions', { model: 'echo', messages, ...fields })
    expect(answer).toMatchObject([400, { type: 'invalid_request_error', param }])
  })
})
