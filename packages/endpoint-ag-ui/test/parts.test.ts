import { describe, expect, it } from 'vitest'
import type { AgentFunction } from '@org/agent-messaging-core'
import { openScene, saying, shownAfter, typesOf } from './scene.js'

/** Runs an agent. Returns its events, and the messages of a client that connects later. */
async function runOf(agent: AgentFunction) {
  const { run } = await openScene({ agent })
  const events = await run('agent', saying('Hi'))
  const later = await run('agent/connect', { threadId: 't-1', runId: 'c-1' })
  return { events, shown: shownAfter(events), later: shownAfter(later).slice(1), connected: later }
}

const call = { toolCallId: 'c1', toolName: 'search' }

describe('the parts of an answer', () => {
  it('are events, and have the same ids in a later snapshot', async () => {
    const { events, shown, later, connected } = await runOf(async function* () {
      yield { type: 'reasoning-delta', id: 'r', text: 'Let me ' }
      yield { type: 'reasoning-delta', id: 'r', text: 'look.' }
      yield { type: 'start-step', name: 'look' }
      yield { type: 'tool-input-start', ...call, title: 'Search' }
      yield { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"q":' }
      yield { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '1}' }
      yield { type: 'tool-input-available', ...call, input: { q: 1 } }
      yield 'Found '
      yield { type: 'tool-output-available', toolCallId: 'c1', output: 'half', preliminary: true }
      yield { type: 'tool-output-available', toolCallId: 'c1', output: [1] }
      yield 'it.'
      yield { type: 'finish-step' }
      yield { type: 'tool-input-available', toolCallId: 'c2', toolName: 'fail', input: null }
      yield { type: 'tool-output-error', toolCallId: 'c2', errorText: 'no' }
      yield 'Bye.'
    })
    expect(typesOf(events)).toEqual([
      'RUN_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'STEP_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TOOL_CALL_RESULT',
      'TEXT_MESSAGE_CONTENT',
      'STEP_FINISHED',
      'TEXT_MESSAGE_END',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(later).toEqual([
      ['reasoning', 'Let me look.'],
      ['assistant', 'search'],
      ['tool', '[1]'],
      ['assistant', 'Found it.'],
      ['assistant', 'fail'],
      ['tool', 'no'],
      ['assistant', 'Bye.'],
    ])
    // A client puts a result behind its call.
    expect(new Set(shown)).toEqual(new Set(later))
    const snapshot = connected[1]?.['messages'] as { id: string; error?: string }[]
    const ids = events.flatMap((event) =>
      /(TEXT|REASONING)_MESSAGE_START|TOOL_CALL_RESULT/.test(event.type)
        ? [event['messageId']]
        : [],
    )
    expect(snapshot.map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
    expect(snapshot.find(({ error }) => error !== undefined)).toMatchObject({ error: 'no' })
  })

  it('have no call without a result, which a client would execute', async () => {
    const { events, later } = await runOf(async function* () {
      yield { type: 'tool-input-start', ...call }
      yield { type: 'tool-input-available', toolCallId: 'c2', toolName: 'half', input: {} }
      yield { type: 'tool-output-available', toolCallId: 'c2', output: 'x', preliminary: true }
      yield 'Done.'
    })
    const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT')
    expect(results.map(({ content }) => content)).toEqual(['', 'x'])
    expect(later.filter(([role]) => role === 'tool')).toEqual([
      ['tool', ''],
      ['tool', 'x'],
    ])
  })

  it('end where the agent does not end them', async () => {
    const { events } = await runOf(async function* () {
      yield { type: 'finish-step' }
      yield { type: 'start-step' }
      yield { type: 'start-step', name: 'second' }
      yield { type: 'tool-input-start', ...call }
      yield { type: 'reasoning-delta', id: 'a', text: 'one' }
      yield { type: 'reasoning-delta', id: 'b', text: 'two' }
    })
    const steps = events.filter(({ type }) => type.startsWith('STEP'))
    expect(steps.map(({ stepName }) => stepName)).toEqual(['step', 'step', 'second', 'second'])
  })

  it('are harmless if they are hostile', async () => {
    const script = '</script><script>alert(1)</script>\n\ndata: {}\n\n'
    const { events, later } = await runOf(async function* () {
      yield { type: 'tool-output-available', toolCallId: 'unknown', output: 1 }
      yield { type: 'nonsense' } as never
      yield { type: 'file', url: 'javascript:alert(1)', mediaType: 'text/html' }
      yield { type: 'tool-input-available', ...call, input: { a: script } }
      yield { type: 'tool-input-available', ...call, input: 'again' }
      yield { type: 'tool-output-available', toolCallId: 'c1', output: script }
      yield { type: 'tool-output-available', toolCallId: 'c1', output: 'again' }
      yield { type: 'data', name: script, data: { __proto__: null, a: script } }
      yield { type: 'reasoning-delta', id: 'r', text: 'half \ud83d' }
      yield { type: 'reasoning-delta', id: 'r', text: '\ude00' }
      yield script
      yield { type: 'tool-input-start', toolCallId: 'c2', toolName: 'long' }
      for (let sent = 0; sent < 64; sent++)
        yield { type: 'tool-input-delta', toolCallId: 'c2', inputTextDelta: 'x'.repeat(16 * 1024) }
      yield { type: 'tool-input-available', toolCallId: 'c2', toolName: 'long', input: {} }
    })
    const args = events.filter(({ type }) => type === 'TOOL_CALL_ARGS')
    expect(args.length).toBeGreaterThan(1)
    expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject([
      { content: script },
      { content: '' },
    ])
    expect(events.filter(({ type }) => type === 'CUSTOM')).toMatchObject([{ name: script }])
    expect(later).toContainEqual(['reasoning', 'half \u{1f600}'])
    expect(later).toContainEqual(['assistant', script])
  })

  it('can be ten thousand', async () => {
    const { shown, later } = await runOf(async function* () {
      for (let sent = 0; sent < 10_000; sent++)
        yield { type: 'source-url', sourceId: `s${sent}`, url: 'https://shop.example/' }
      yield 'Done.'
    })
    expect(shown).toEqual([['assistant', 'Done.']])
    expect(later).toEqual(shown)
  })
})
