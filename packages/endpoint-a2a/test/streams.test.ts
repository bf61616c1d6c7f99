import { TaskState, type StreamResponse } from '@a2a-js/sdk'
import { describe, expect, it } from 'vitest'
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
