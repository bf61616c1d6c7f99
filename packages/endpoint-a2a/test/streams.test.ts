import { TaskState, type StreamResponse } from '@a2a-js/sdk'
import { createService, defaultPolicy, type Policy } from '@org/agent-messaging-core'
import { memoryChunkRelay } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { createA2aEndpoint } from '../src/index.js'
import { asking, BINDINGS, openScene, type Binding } from './scene.js'

type Events = AsyncGenerator<StreamResponse, void, undefined>

/** Shows an event in a few words. */
function shown({ payload }: StreamResponse): string {
  if (payload?.$case === 'artifactUpdate') {
    const { artifact, append, lastChunk } = payload.value
    const content = artifact?.parts[0]?.content
    const text = content?.$case === 'text' ? content.value : ''
    return `${append ? '+' : '='}${text}${lastChunk ? '.' : ''}`
  }
  if (payload?.$case === 'task' || payload?.$case === 'statusUpdate') {
    const state = TaskState[payload.value.status?.state ?? 0] ?? ''
    return `${payload.$case} ${state.replace('TASK_STATE_', '').toLowerCase()}`
  }
  return payload?.$case ?? 'nothing'
}

async function take(events: Events, count: number): Promise<string[]> {
  const taken: string[] = []
  while (taken.length < count) {
    const next = await events.next()
    if (next.done) break
    taken.push(shown(next.value))
  }
  return taken
}
const rest = (events: Events) => take(events, Infinity)

async function openStream(binding: Binding) {
  const scene = await openScene()
  const client = await scene.clientOf('slow', binding)
  const events = client.sendMessageStream(asking('Hi'))
  const first = take(events, 1)
  await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
  const [run] = scene.runtime.requests
  if (!run) throw new Error('expected a run')
  return { ...scene, client, events, first: await first, run }
}

describe.each(BINDINGS)('a stream over %s', (binding) => {
  it('has the task, the pieces of the answer, and the end', async () => {
    const { events, first, run, runtime } = await openStream(binding)
    expect(first).toEqual(['task working'])
    run.emit('Hel')
    expect(await take(events, 1)).toEqual(['=Hel'])
    run.emit('lo')
    expect(await take(events, 1)).toEqual(['+lo'])
    runtime.answer(run.messageId, 'Hello!')
    expect(await rest(events)).toEqual(['+!.', 'statusUpdate completed'])
  })

  it('ends the artifact with an empty piece if the whole answer was streamed', async () => {
    const { events, run, runtime } = await openStream(binding)
    run.emit('Hello')
    expect(await take(events, 1)).toEqual(['=Hello'])
    runtime.answer(run.messageId, 'Hello')
    expect(await rest(events)).toEqual(['+.', 'statusUpdate completed'])
  })

  it('replaces the text when the agent starts again', async () => {
    const { clock, events, run, runtime } = await openStream(binding)
    run.emit('void')
    expect(await take(events, 1)).toEqual(['=void'])
    runtime.fail(run.messageId, 'a passing failure', { retryable: true })
    await expect
      .poll(async () => {
        await clock.advance(1_000)
        return runtime.openRuns.length
      })
      .toBe(1)
    runtime.answer(run.messageId, 'Answer')
    expect((await rest(events)).slice(-2)).toEqual(['=Answer.', 'statusUpdate completed'])
  })

  it('of a final task has only the task', async () => {
    const { clientOf } = await openScene()
    const client = await clientOf('failing', binding)
    const all = await rest(client.sendMessageStream(asking('Hi')))
    expect(all.at(-1)).toMatch(/failed$/)
    const again = await clientOf('echo', binding)
    const request = asking('Hi', { messageId: crypto.randomUUID() })
    await again.sendMessage(request)
    expect(await rest(again.sendMessageStream(request))).toEqual(['task completed'])
  })

  it('can be joined while the task is open, and only then', async () => {
    const { client, events, run, runtime } = await openStream(binding)
    run.emit('Hel')
    const joined = client.resubscribeTask({ tenant: '', id: run.messageId })
    expect(await take(joined, 2)).toEqual(['task working', '=Hel'])
    runtime.answer(run.messageId, 'Hello')
    expect(await rest(joined)).toEqual(['+lo.', 'statusUpdate completed'])
    expect((await rest(events)).at(-1)).toBe('statusUpdate completed')
    const late = client.resubscribeTask({ tenant: '', id: run.messageId })
    await expect(late.next()).rejects.toMatchObject({ reason: 'UNSUPPORTED_OPERATION' })
    const unknown = client.resubscribeTask({ tenant: '', id: crypto.randomUUID() })
    await expect(unknown.next()).rejects.toMatchObject({ reason: 'TASK_NOT_FOUND' })
  })

  it('leaves the text so far in the task, until the answer', async () => {
    const { client, events, run, runtime } = await openStream(binding)
    const read = () => client.getTask({ tenant: '', id: run.messageId })
    expect(await read()).toMatchObject({ artifacts: [] })
    run.emit('Hel')
    run.emit('lo')
    expect(await read()).toMatchObject({
      status: { state: TaskState.TASK_STATE_WORKING },
      artifacts: [{ parts: [{ content: { value: 'Hello' } }], metadata: { partial: true } }],
    })
    runtime.answer(run.messageId, 'Hello!')
    await rest(events)
    expect(await read()).toMatchObject({
      status: { state: TaskState.TASK_STATE_COMPLETED },
      artifacts: [{ parts: [{ content: { value: 'Hello!' } }], metadata: undefined }],
    })
  })

  it('ends with an error if the service stops', async () => {
    const { events, service } = await openStream(binding)
    const failed = rest(events).catch((error: unknown) => String(error))
    await service.stop({ graceMs: 0 })
    expect(await failed).toContain('The agent continues: subscribe to the task')
  })

  it('ends after its key was revoked', async () => {
    const { clientOf, clock, createKey, projectId, runtime, service } = await openScene()
    const { apiKey, key } = await createKey(['project:message'])
    const client = await clientOf('slow', binding, key)
    const events = client.sendMessageStream(asking('Hi'))
    await take(events, 1)
    let failure = ''
    void rest(events).catch((error: unknown) => void (failure = String(error)))
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    await service.keys.revoke({ projectId, keyId: apiKey.id })
    await expect
      .poll(async () => {
        await clock.advance(service.policy.stream.keyCheckMs)
        return failure
      })
      .toContain('Send a valid API key')
  })
})

it('a quiet stream has heartbeats', async () => {
  const { clock, key, service, url } = await openScene()
  const response = await fetch(`${url}/slow/message:stream`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'a2a-version': '1.0',
      'content-type': 'application/a2a+json',
    },
    body: JSON.stringify({
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] },
    }),
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  let text = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
  })()
  await expect
    .poll(async () => {
      await clock.advance(service.policy.stream.heartbeatMs)
      return text
    })
    .toContain(': heartbeat\n\n')
  expect(text).toContain('"task"')
  await service.stop({ graceMs: 0 })
  await reading
  expect(text).toContain('event: error')
})

describe('the text so far', () => {
  async function working(policy: Partial<Policy> = {}) {
    const relay = memoryChunkRelay()
    const scene = await openScene(policy, { relay })
    const { crypto, key, projectId, runtime, service, storage } = scene
    void service.messages.send({
      projectId,
      agent: 'slow',
      sessionId: 's',
      message: 'Hi',
      waitMs: 0,
    })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const [run] = runtime.requests
    if (!run) throw new Error('expected a run')
    const other = createService({ ...scene, relay, storage: storage.reopen() })
    const app = createA2aEndpoint({ service: other, crypto, newId: () => 'id' })
    const headers = { authorization: `Bearer ${key}`, 'a2a-version': '1.0' }
    const read = async () => {
      const answer = await app.request(`/a2a/slow/tasks/${run.messageId}`, { headers })
      return (await answer.json()) as unknown
    }
    return { ...scene, other, read, run }
  }
  const WORKING = { status: { state: 'TASK_STATE_WORKING' } }

  it('comes from the process that runs the agent', async () => {
    const { read, run } = await working()
    const long = 'x'.repeat(5_000)
    run.emit(`Hello ${long}`)
    expect(await read()).toMatchObject({
      ...WORKING,
      artifacts: [{ parts: [{ text: `Hello ${long}` }], metadata: { partial: true } }],
    })
  })

  it('is left out if that process is silent, or the project has too many streams', async () => {
    const { read } = await working()
    expect(await read()).toMatchObject(WORKING)
    const full = await working({ stream: { ...defaultPolicy.stream, maxPerProject: 0 } })
    full.run.emit('Hello')
    expect(await full.read()).toMatchObject(WORKING)
  })

  it('gives way to an answer that comes meanwhile', async () => {
    const { read, run, runtime } = await working()
    const reading = read()
    run.emit('Hel')
    runtime.answer(run.messageId, 'Hello')
    expect(await reading).toMatchObject({ artifacts: [{ parts: [{ text: 'Hello' }] }] })
  })

  it('is left out once the agent has failed', async () => {
    const { read, run, runtime } = await working()
    run.emit('Hel')
    const reading = read()
    runtime.fail(run.messageId)
    expect(await reading).not.toHaveProperty('artifacts')
  })
})
