import type { PartEvent } from '@org/agent-messaging-core/runtime'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openScene, textIn, typesOf, type Chunk } from './scene.js'

type Emitted = string | PartEvent

/** Returns the chunks of an answer that emits all of this, and its stored form. */
async function answerOf(emitted: readonly unknown[]) {
  const defects: unknown[] = []
  const emit = async function* () {
    yield* emitted as Emitted[]
  }
  const { ask, read, send } = await openScene({ emit }, (error) => void defects.push(error))
  const response = await send('emit', 'Go')
  const chunks = await read(response)
  const stored = (await (await ask('GET', 'emit/chat-1/messages')).json()) as {
    readonly parts: readonly Chunk[]
  }[]
  expect(defects).toEqual([])
  return { chunks, stored: stored[1]?.parts ?? [] }
}

const call = { toolCallId: 'c1', toolName: 'orders' }
const ofTool = { dynamic: true, providerExecuted: true }

describe('the parts of an answer', () => {
  it('are chunks of their kinds, and parts of the stored message', async () => {
    const { chunks, stored } = await answerOf([
      { type: 'start-step' },
      { type: 'reasoning-delta', id: 'r', text: 'Let me ' },
      { type: 'reasoning-delta', id: 'r', text: 'see.' },
      { type: 'tool-input-start', ...call, title: 'Orders' },
      { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"id":' },
      'It is ',
      { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '7}' },
      'here',
      { type: 'tool-input-available', ...call, input: { id: 7 } },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'sent' },
      { type: 'data', name: 'place', id: 'p', data: { city: 'Ulm' } },
      { type: 'file', url: 'https://f.example/a', mediaType: 'image/png', filename: 'a', size: 9 },
      { type: 'source-url', sourceId: 's', url: 'https://s.example', title: 'S' },
      { type: 'finish-step' },
      '.',
    ])
    expect(chunks.slice(1)).toEqual([
      { type: 'start-step' },
      { type: 'reasoning-start', id: 'reasoning-1' },
      { type: 'reasoning-delta', id: 'reasoning-1', delta: 'Let me ' },
      { type: 'reasoning-delta', id: 'reasoning-1', delta: 'see.' },
      { type: 'reasoning-end', id: 'reasoning-1' },
      { type: 'tool-input-start', ...call, title: 'Orders', ...ofTool },
      { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"id":', ...ofTool },
      { type: 'text-start', id: 'text-2' },
      { type: 'text-delta', id: 'text-2', delta: 'It is ' },
      { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '7}', ...ofTool },
      { type: 'text-delta', id: 'text-2', delta: 'here' },
      { type: 'text-end', id: 'text-2' },
      { type: 'tool-input-available', ...call, input: { id: 7 }, ...ofTool },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'sent', ...ofTool },
      { type: 'data-place', id: 'p', data: { city: 'Ulm' } },
      { type: 'file', url: 'https://f.example/a', mediaType: 'image/png', filename: 'a' },
      { type: 'source-url', sourceId: 's', url: 'https://s.example', title: 'S' },
      { type: 'finish-step' },
      { type: 'text-start', id: 'text-3' },
      { type: 'text-delta', id: 'text-3', delta: '.' },
      { type: 'text-end', id: 'text-3' },
      { type: 'finish', finishReason: 'stop' },
      { type: '[DONE]' },
    ])
    expect(stored).toEqual([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Let me see.', state: 'done' },
      {
        type: 'dynamic-tool',
        ...call,
        title: 'Orders',
        state: 'output-available',
        input: { id: 7 },
        output: 'sent',
        providerExecuted: true,
      },
      { type: 'text', text: 'It is here', state: 'done' },
      { type: 'data-place', id: 'p', data: { city: 'Ulm' } },
      { type: 'file', url: 'https://f.example/a', mediaType: 'image/png', filename: 'a' },
      { type: 'source-url', sourceId: 's', url: 'https://s.example', title: 'S' },
      { type: 'text', text: '.', state: 'done' },
    ])
  })

  it('leave out events of calls that the client does not know', async () => {
    const { chunks } = await answerOf([
      { type: 'tool-output-available', toolCallId: 'unknown', output: 1 },
      { type: 'tool-input-available', ...call, input: 'x'.repeat(70_000) },
      { type: 'tool-output-available', toolCallId: 'c1', output: 1 },
      { type: 'tool-input-available', ...call, toolCallId: 'c2', input: {} },
      { type: 'tool-input-delta', toolCallId: 'c2', inputTextDelta: 'late' },
      'Done',
    ])
    expect(typesOf(chunks)).toEqual([
      'start',
      'tool-input-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
      '[DONE]',
    ])
  })

  it('can be hostile', async () => {
    const script = '</script><script>alert(1)</script>'
    const { chunks, stored } = await answerOf([
      { type: 'tool-input-start', ...call },
      ...Array.from({ length: 64 }, () => ({
        type: 'tool-input-delta',
        toolCallId: 'c1',
        inputTextDelta: 'x'.repeat(16 * 1024),
      })),
      {
        type: 'tool-output-available',
        toolCallId: 'c1',
        output: `${script}\u2028\n\ndata: [DONE]`,
      },
      { type: 'reasoning-delta', id: 'r', text: 'Half \ud83d' },
      { type: 'reasoning-delta', id: 'r', text: '\ude00 and \ud83d' },
      'Lone \ud83d',
      '\ude00',
      { type: 'data', name: '__proto__', data: { constructor: null } },
      { type: 'data', name: 'lone', data: '\ud800' },
      { type: 'no such type' },
      ' end',
    ])
    expect(textIn(chunks).isWellFormed()).toBe(true)
    expect(chunks.filter(({ type }) => type === '[DONE]')).toHaveLength(1)
    expect(chunks.find(({ type }) => type === 'tool-output-available')?.['output']).toContain(
      script,
    )
    const reasoning = stored.find(({ type }) => type === 'reasoning')
    expect(reasoning?.['text']).toBe('Half 😀 and ')
  })

  it('can be 10,000, and the client gets all of them', { timeout: 60_000 }, async () => {
    const events = Array.from({ length: 10_000 }, (_, n) => ({
      type: 'source-url',
      sourceId: `${n}`,
      url: `https://s.example/${n}`,
    }))
    const { chunks, stored } = await answerOf([...events, 'Done'])
    const sources = chunks.filter(({ type }) => type === 'source-url')
    // The log of a run is bounded: a reader that is late gets the stored parts.
    expect(new Set(sources.map(({ sourceId }) => sourceId)).size).toBe(sources.length)
    expect(sources.length).toBeGreaterThanOrEqual(1_000)
    expect(textIn(chunks)).toBe('Done')
    expect(stored).toHaveLength(1_001)
  })

  const json = fc.jsonValue()
  const id = fc.constantFrom('a', 'b')
  // An answer with NUL or half of a letter fails.
  const event = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.record({ type: fc.constant('reasoning-delta'), id, text: fc.string({ unit: 'binary' }) }),
    fc.record({
      type: fc.constantFrom('tool-input-start', 'tool-input-available'),
      toolCallId: id,
      toolName: id,
      input: json,
    }),
    fc.record({
      type: fc.constant('tool-input-delta'),
      toolCallId: id,
      inputTextDelta: fc.string(),
    }),
    fc.record({ type: fc.constant('tool-output-available'), toolCallId: id, output: json }),
    fc.record({ type: fc.constant('tool-output-error'), toolCallId: id, errorText: fc.string() }),
    fc.record({ type: fc.constant('data'), name: id, id, data: json }),
    fc.record({ type: fc.constantFrom('start-step', 'finish-step') }),
    fc.object(),
  )

  it('of any kind and order make a stream that a client can read', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (emitted) => {
        const { chunks, stored } = await answerOf([...emitted, 'End'])
        expect(problemOf(chunks)).toBeUndefined()
        expect(textIn(chunks)).toBe(
          stored.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
        )
      }),
      { numRuns: 100 },
    )
  })
})

/** Returns the first chunk that the clients of AI SDK throw at. */
function problemOf(chunks: readonly Chunk[]): Chunk | undefined {
  const blocks = new Set<unknown>()
  const calls = new Set<unknown>()
  const started = new Set<unknown>()
  return chunks.find(({ type, id, toolCallId }) => {
    if (/^(text|reasoning)-start$/.test(type)) return blocks.has(id) || !blocks.add(id)
    if (/^(text|reasoning)-delta$/.test(type)) return !blocks.has(id)
    if (/^(text|reasoning)-end$/.test(type)) return !blocks.delete(id)
    if (type === 'tool-input-start') started.add(toolCallId)
    if (type === 'tool-input-delta') return !started.has(toolCallId)
    if (type.startsWith('tool-input-')) calls.add(toolCallId)
    return type.startsWith('tool-output-') && !calls.has(toolCallId)
  })
}
