import type { PartEvent, RunRequest } from '@org/agent-messaging-core/runtime'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { openScene } from './scene.js'

type Scene = Awaited<ReturnType<typeof openScene>>
type Event = OpenAI.Responses.ResponseStreamEvent

const call = { toolCallId: 'c1', toolName: 'look' } as const
const PARTS: readonly (string | PartEvent)[] = [
  { type: 'reasoning-delta', id: 'r', text: 'Let me ' },
  { type: 'reasoning-delta', id: 'r', text: 'look.' },
  'I look. ',
  { type: 'tool-input-start', ...call },
  { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"at":' },
  { type: 'tool-input-available', ...call, input: { at: 1 } },
  { type: 'tool-output-available', toolCallId: 'c1', output: 'half', preliminary: true },
  { type: 'tool-output-available', toolCallId: 'c1', output: { animal: '</script>' } },
  { type: 'tool-input-available', toolCallId: 'c2', toolName: 'ask', input: null },
  { type: 'tool-output-error', toolCallId: 'c2', errorText: 'nobody is here' },
  { type: 'data', name: 'state', data: 1 },
  'A cat.',
]
const ITEMS = [
  {
    type: 'reasoning',
    status: 'completed',
    summary: [{ type: 'summary_text', text: 'Let me look.' }],
  },
  { type: 'message', status: 'completed', content: [{ text: 'I look. A cat.' }] },
  {
    type: 'mcp_call',
    status: 'completed',
    server_label: 'slow',
    name: 'look',
    arguments: '{"at":1}',
    output: '{"animal":"</script>"}',
    error: null,
  },
  {
    type: 'mcp_call',
    status: 'failed',
    server_label: 'slow',
    name: 'ask',
    arguments: 'null',
    output: null,
    error: 'nobody is here',
  },
]

/** Waits for the next run of the agent `slow`. */
async function nextRun({ runtime }: Scene): Promise<RunRequest> {
  await expect.poll(() => runtime.openRuns).toHaveLength(1)
  const run = runtime.requests.at(-1)
  if (!run) throw new Error('expected a run')
  return run
}

async function emitAll(scene: Scene, parts = PARTS, response = 'I look. A cat.'): Promise<void> {
  const run = await nextRun(scene)
  for (const part of parts) run.emit(part)
  scene.runtime.answer(run.messageId, response)
}

async function allOf(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of stream) events.push(event)
  return events
}

const itemsOf = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === 'response.output_item.done' ? [event] : []))

describe('the parts of a response', () => {
  it('are reasoning and calls that are done', async () => {
    const scene = await openScene()
    const sent = scene.client.responses.create({ model: 'slow', input: 'Hi' })
    await emitAll(scene)
    const response = await sent
    expect(response).toMatchObject({ output_text: 'I look. A cat.', output: ITEMS })
    const read = await scene.client.responses.retrieve(response.id)
    expect(read.output).toEqual(response.output)
    expect(new Set(read.output.map(({ id }) => id)).size).toBe(4)
    expect(JSON.stringify(read)).not.toContain('function_call')
  })

  it('are streamed as the items that a later read has', async () => {
    const scene = await openScene()
    const stream = scene.client.responses.stream({ model: 'slow', input: 'Hi' })
    const events = allOf(stream)
    await emitAll(scene)
    const all = await events
    const [first] = itemsOf(all)
    expect(first).toMatchObject({ output_index: 0, item: ITEMS[0] })
    const done = itemsOf(all).toSorted((a, b) => a.output_index - b.output_index)
    const { id, output } = await stream.finalResponse()
    expect(done.map(({ item }) => item)).toMatchObject(ITEMS)
    expect(output).toMatchObject(done.map(({ item }) => item))
    expect((await scene.client.responses.retrieve(id)).output).toMatchObject(
      done.map(({ item }) => item),
    )
    expect(all.map(({ sequence_number: number }) => number)).toEqual(all.map((_, index) => index))
    const types = all.map(({ type }) => type)
    for (const type of [
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.mcp_call.failed',
    ] as const)
      expect(types).toContain(type)
  })

  it('are left out of a chat completion', async () => {
    const scene = await openScene()
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    const sent = scene.client.chat.completions.create({ model: 'slow', messages })
    await emitAll(scene)
    expect((await sent).choices).toMatchObject([
      { message: { content: 'I look. A cat.' }, finish_reason: 'stop' },
    ])
  })

  it('become void if the agent starts again', async () => {
    const scene = await openScene()
    const stream = scene.client.responses.stream({ model: 'slow', input: 'Hi' })
    const events = allOf(stream)
    const run = await nextRun(scene)
    for (const part of PARTS.slice(0, 6)) run.emit(part)
    scene.runtime.fail(run.messageId, 'try again', { retryable: true })
    await scene.clock.until(() => scene.runtime.requests.length === 2)
    await emitAll(scene, [{ type: 'tool-input-available', ...call, input: 1 }, 'Cat'], 'Cat')
    const done = itemsOf(await events)
    expect(done.map(({ item }) => [item.type, 'status' in item && item.status])).toEqual([
      ['reasoning', 'completed'],
      ['mcp_call', 'incomplete'],
      ['message', 'incomplete'],
      ['mcp_call', 'incomplete'],
      ['message', 'completed'],
    ])
    expect(done.map(({ output_index: index }) => index)).toEqual([0, 2, 1, 3, 4])
    expect(new Set(done.map(({ item }) => item.id)).size).toBe(5)
    const { output } = await stream.finalResponse()
    expect(output).toMatchObject(done.slice(3).map(({ item }) => item))
  })

  it('that are hostile break no stream', async () => {
    const scene = await openScene()
    const stream = scene.client.responses.stream({ model: 'slow', input: 'Hi' })
    const events = allOf(stream)
    const delta = (text: string) => ({ type: 'reasoning-delta', id: 'r', text }) as const
    const wrong = [7, null, { type: 'tool-output-available', toolCallId: 'c1', output: 1 }]
    await emitAll(
      scene,
      [
        ...(wrong as unknown as PartEvent[]),
        delta('\ud83d'),
        delta('x'.repeat(60_000)),
        delta('y'.repeat(60_000)),
        delta('z'.repeat(1_000_000)),
        ...Array.from({ length: 1_500 }, (_, index) => {
          const toolCallId = `c${index}`
          return { type: 'tool-input-available', toolCallId, toolName: 't', input: 'i' } as const
        }),
        { type: 'tool-output-available', toolCallId: 'c1499', output: 'o'.repeat(100_000) },
      ],
      '',
    )
    const done = itemsOf(await events)
    expect(done.map(({ item }) => item.type)).toContain('message')
    const { output, id } = await stream.finalResponse()
    expect(output.length).toBeLessThanOrEqual(1_001)
    expect((await scene.client.responses.retrieve(id)).output).toHaveLength(output.length)
  })

  it('can be in the input of the next request, also as references', async () => {
    const scene = await openScene()
    const sent = scene.client.responses.create({ model: 'slow', input: 'Hi' })
    await emitAll(scene)
    const { output } = await sent
    const ask = { role: 'user' as const, content: 'And now?' }
    const hi = { role: 'user' as const, content: 'Hi' }
    const references = output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }))
    for (const past of [output as OpenAI.Responses.ResponseInputItem[], references]) {
      const next = scene.client.responses.create({ model: 'slow', input: [hi, ...past, ask] })
      const run = await nextRun(scene)
      expect(run.message).toBe('And now?')
      const history = await run.history({ maxTurns: 10, maxLength: 1_000 })
      expect(history).toMatchObject([{ message: 'Hi', response: 'I look. A cat.' }])
      scene.runtime.answer(run.messageId, 'ok')
      expect((await next).output_text).toBe('ok')
    }
  })

  it('end with a question that comes after them', async () => {
    const scene = await openScene()
    const stream = scene.client.responses.stream({ model: 'slow', input: 'Hi' })
    const events = allOf(stream)
    const run = await nextRun(scene)
    for (const part of PARTS.slice(0, 2)) run.emit(part)
    run.emit({ type: 'tool-input-available', ...call, input: 1 })
    scene.runtime.ask(run.messageId, { question: 'Pay?' })
    const done = itemsOf(await events)
    expect(done.map(({ item }) => item.type)).toEqual(['reasoning', 'mcp_call', 'message'])
    const { output, id } = await stream.finalResponse()
    expect(output).toMatchObject([done[2]?.item])
    expect((await scene.client.responses.retrieve(id)).output).toEqual([done[2]?.item])
  })
})
