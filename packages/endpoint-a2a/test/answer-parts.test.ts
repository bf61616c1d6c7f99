import type { Part, StreamResponse, Task } from '@a2a-js/sdk'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { asking, BINDINGS, LIST_ALL, openScene, type Binding } from './scene.js'

const url = 'https://files.example/a.png'
const call = { toolCallId: 'c1', toolName: 'look' }
const data = (value: unknown) => ({
  type: 'data' as const,
  name: 'order',
  id: 'o-1',
  data: value as number,
})
const PARTS: readonly (string | PartEvent)[] = [
  { type: 'reasoning-delta', id: 'r', text: 'Think.' },
  'Here: ',
  data(1),
  { type: 'tool-input-available', ...call, input: {} },
  { type: 'file', url, mediaType: 'image/png', filename: 'a.png' },
  'done',
  data(2),
]
const text = (value: string) => ({ content: { $case: 'text', value } })
const order = (value: unknown) => ({
  content: { $case: 'data', value },
  metadata: { name: 'order', id: 'o-1' },
  mediaType: 'application/json',
})
const file = {
  content: { $case: 'url', value: url },
  mediaType: 'image/png',
  filename: 'a.png',
}

async function openRun(binding: Binding) {
  const scene = await openScene()
  const client = await scene.clientOf('slow', binding)
  const events = client.sendMessageStream(asking('Hi'))
  const first = await events.next()
  await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
  const [run] = scene.runtime.requests
  if (first.done || !run) throw new Error('expected a run')
  return { ...scene, client, events, run }
}

type Update = { readonly parts: readonly Part[]; readonly append: boolean; readonly last: boolean }

async function updatesOf(events: AsyncIterable<StreamResponse>): Promise<Update[]> {
  const updates: Update[] = []
  for await (const { payload } of events)
    if (payload?.$case === 'artifactUpdate') {
      const { artifact, append, lastChunk: last } = payload.value
      updates.push({ parts: artifact?.parts ?? [], append, last })
    }
  return updates
}

describe.each(BINDINGS)('the parts of an answer over %s', (binding) => {
  it('are the data and files of the artifact, in streams and reads', async () => {
    const { client, events, run, runtime, clock } = await openRun(binding)
    for (const part of PARTS) run.emit(part)
    const read = client.getTask({ tenant: '', id: run.messageId })
    const partial = [text('Here: '), order(1), file, text('done'), order(2)]
    expect(await read).toMatchObject({
      artifacts: [{ parts: partial, metadata: { partial: true } }],
    })
    runtime.answer(run.messageId, 'Here: done')
    await clock.advance(0)
    const updates = await updatesOf(events)
    expect(updates.flatMap(({ parts }) => parts)).toMatchObject([...partial, text('')])
    expect(updates.map(({ append }) => append)).toEqual(updates.map((_, index) => index > 0))
    expect(updates.at(-1)).toMatchObject({ last: true })
    const parts = [text('Here: '), order(2), file, text('done')]
    const task = await client.getTask({ tenant: '', id: run.messageId })
    expect(task.artifacts).toMatchObject([{ parts, metadata: undefined }])
    const list = { ...LIST_ALL, includeArtifacts: true }
    const { tasks } = await client.listTasks(list)
    expect(tasks[0]?.artifacts).toEqual(task.artifacts)
  })

  it('are in the task of a send', async () => {
    const scene = await openScene()
    const client = await scene.clientOf('slow', binding)
    const sent = client.sendMessage(asking('Hi')) as Promise<Task>
    await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
    const [run] = scene.runtime.requests
    run?.emit(data(1))
    scene.runtime.answer(run?.messageId ?? '', '')
    expect((await sent).artifacts).toMatchObject([{ parts: [order(1)] }])
  })

  it('are replaced if the agent starts again', async () => {
    const { events, run, runtime, clock } = await openRun(binding)
    run.emit(data(1))
    const { value: first } = await events.next()
    expect(first?.payload).toMatchObject({ value: { append: false } })
    const updates = updatesOf(events)
    runtime.fail(run.messageId, 'try again', { retryable: true })
    await clock.until(() => runtime.openRuns.length === 1 && runtime.requests.length === 2)
    runtime.requests[1]?.emit(data(2))
    runtime.requests[1]?.emit('Hi')
    runtime.answer(run.messageId, 'Hi')
    const all = await updates
    expect(all.map(({ append }) => append)).toEqual([false, true, true])
    expect(all.flatMap(({ parts }) => parts)).toMatchObject([order(2), text('Hi'), text('')])
  })

  it('that are hostile break no stream', async () => {
    const { client, events, run, runtime } = await openRun(binding)
    const updates = updatesOf(events)
    const wrong = [7, { type: 'file', url: 'data:,a', mediaType: 'a/b' }, data(undefined)]
    for (const part of wrong) run.emit(part as unknown as PartEvent)
    run.emit(data('\ud83d'))
    run.emit(data('x'.repeat(1_000_000)))
    run.emit(data('</script>'))
    runtime.answer(run.messageId, 'ok')
    expect((await updates).at(-1)).toMatchObject({ last: true })
    const { artifacts } = await client.getTask({ tenant: '', id: run.messageId })
    expect(artifacts).toMatchObject([{ parts: [order('</script>'), text('ok')] }])
  })
})

describe('the agent card', () => {
  it('names the media types that the kind of the agent takes', async () => {
    const { agentWith, request } = await openScene()
    await agentWith('picky', { runtime: { kind: 'picky' } })
    const modesOf = async (agent: string) => {
      const { json } = await request(`/${agent}/.well-known/agent-card.json`, { method: 'GET' })
      const { defaultInputModes, defaultOutputModes } = json as Record<string, string[]>
      return [defaultInputModes, defaultOutputModes]
    }
    const output = ['text/plain', 'application/json']
    expect(await modesOf('echo')).toEqual([['text/plain', 'application/json', '*/*'], output])
    expect(await modesOf('picky')).toEqual([['text/plain', 'application/json'], output])
  })
})
