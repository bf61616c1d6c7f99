import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PartCollector } from './part-collector.js'
import { PART_LIMITS, type Part, type PartEvent } from './part.js'

/** Returns the parts of an answer for what a run emits, and what its readers get. */
function collected(emitted: readonly unknown[], response?: string) {
  const problems: string[] = []
  const collector = new PartCollector((problem) => problems.push(problem))
  const shown = emitted.map((one) => collector.take(one)).filter((one) => one !== undefined)
  const text = shown.filter((one) => typeof one === 'string').join('')
  return { ...collector.finish(response ?? text), shown, problems }
}

const plan = { type: 'data', name: 'plan', id: '1', data: 'a' } as const
const start = { type: 'tool-input-start', toolCallId: 'c', toolName: 'search' } as const
const input = { ...start, type: 'tool-input-available', input: { q: 1 } } as const
const output = { type: 'tool-output-available', toolCallId: 'c', output: 'hit' } as const
const failed = { type: 'tool-output-error', toolCallId: 'c', errorText: 'no' } as const
const reason = (text: string, id = 'r') => ({ type: 'reasoning-delta', id, text }) as const
const call = { type: 'tool', toolCallId: 'c', toolName: 'search' } as const
const done = { ...call, state: 'output-available', input: { q: 1 }, output: 'hit' } as const
const text = (words: string): Part => ({ type: 'text', text: words })

describe('an answer of text only', () => {
  it('has no parts', () => {
    expect(collected(['Hel', { type: 'text-delta', text: 'lo' }, '', '\0'])).toEqual({
      shown: ['Hel', 'lo', '', ''],
      problems: [],
    })
  })
})

describe('text', () => {
  it('goes on with the text directly before it, and never across a part', () => {
    expect(collected(['a', 'b', plan, { type: 'text-delta', text: 'c' }]).parts).toEqual([
      text('ab'),
      plan,
      text('c'),
    ])
  })
  it.each<[string, readonly unknown[], string, readonly Part[]]>([
    [
      'is replaced by another response at its last place',
      ['Hel', plan, 'lo', input],
      'Hallo',
      [plan, text('Hallo'), { ...call, state: 'input-available', input: { q: 1 } }],
    ],
    [
      'is the response behind the parts if nothing was emitted',
      [plan],
      'Hello',
      [plan, text('Hello')],
    ],
    ['is left out if the response is empty', ['Hello', plan], '', [plan]],
    ['is replaced if a part tears a letter', ['\uD83D', plan, '\uDE00'], '😀', [plan, text('😀')]],
    [
      'stays if another text of the same length has one place',
      [plan, 'abc'],
      'xyz',
      [plan, text('xyz')],
    ],
  ])('%s', (_, emitted, response, parts) => {
    expect(collected(emitted, response).parts).toEqual(parts)
  })
})

describe('a tool call', () => {
  it('has the states of its events', () => {
    expect(collected([start]).parts).toEqual([{ ...call, state: 'input-streaming' }])
    expect(
      collected([
        start,
        { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{' },
        { ...input, title: 'Search' },
      ]).parts,
    ).toEqual([{ ...call, title: 'Search', state: 'input-available', input: { q: 1 } }])
    expect(collected([start, input, output]).parts).toEqual([done])
    expect(collected([input, output, failed]).parts).toEqual([
      { ...call, state: 'output-error', input: { q: 1 }, errorText: 'no' },
    ])
    expect(collected([start, failed]).parts).toEqual([
      { ...call, state: 'output-error', errorText: 'no' },
    ])
  })
  it('has its last output, and keeps its place', () => {
    const early = { ...output, output: 'early', preliminary: true }
    expect(collected([input, early, 'x', output]).parts).toEqual([done, text('x')])
  })
  it('takes no result and no delta of an unknown call', () => {
    const delta = { type: 'tool-input-delta', toolCallId: 'd', inputTextDelta: 'x' }
    expect(collected([output, failed, delta, input])).toMatchObject({
      parts: [{ ...call, state: 'input-available' }],
      shown: [input],
      problems: ['tool-output-available has the id of no tool call'],
    })
  })
})

describe('other parts', () => {
  it('are stored in their order', () => {
    const file = { type: 'file', url: 'https://f.example/a', mediaType: 'image/png' } as const
    const source = { type: 'source-url', sourceId: 's', url: 'https://f.example/b' } as const
    const steps = [
      { type: 'start-step', name: 'one' },
      { type: 'start-step' },
      { type: 'finish-step' },
    ]
    expect(collected([...steps, file, source]).parts).toEqual([
      { type: 'step', name: 'one' },
      { type: 'step' },
      file,
      source,
    ])
  })
  it('are replaced by data of the same name and id', () => {
    const other = { ...plan, id: '2' }
    const { id: _, ...anonymous } = plan
    const events = [plan, other, anonymous, 'x', { ...plan, data: 'b' }, anonymous]
    expect(collected(events).parts).toEqual([
      { ...plan, data: 'b' },
      other,
      anonymous,
      text('x'),
      anonymous,
    ])
  })
  it('are dropped if they are not valid, and the others stay', () => {
    expect(collected([7, plan, { type: 'new' }])).toMatchObject({
      parts: [plan],
      shown: [plan],
      problems: ['is not an object of JSON'],
    })
  })
})

describe('reasoning', () => {
  it('goes on with reasoning of the same id directly before it', () => {
    const events = [reason('a'), reason('b'), reason('c', 's'), 'x', reason('d', 's'), reason('')]
    expect(collected(events).parts).toEqual([
      { type: 'reasoning', text: 'ab' },
      { type: 'reasoning', text: 'c' },
      text('x'),
      { type: 'reasoning', text: 'd' },
    ])
  })
  it('goes on in another part at the bound', () => {
    const { parts = [], isTruncated } = collected(
      ['a', 'b', 'c'].map((x) => reason(x.repeat(30_000))),
    )
    expect(parts.map((part) => part.type === 'reasoning' && part.text.length)).toEqual([
      60_000, 30_000,
    ])
    expect(isTruncated).toBe(false)
  })
  it('is joined over a torn letter, unless its other half never comes', () => {
    const events = [reason('a\uD83D'), reason('\uDE00b'), reason('c\uD83D'), reason('\uDE00', 's')]
    expect(collected(events).shown).toEqual([
      reason('a'),
      reason('😀b'),
      reason('c'),
      reason('\uFFFD', 's'),
    ])
  })
  it('of input deltas is joined too', () => {
    const delta = (inputTextDelta: string) => ({
      type: 'tool-input-delta',
      toolCallId: 'c',
      inputTextDelta,
    })
    expect(collected([start, delta('\uD83D'), delta('\uDE00')]).shown).toEqual([
      start,
      delta(''),
      delta('😀'),
    ])
  })
})

describe('the bounds', () => {
  const dataOf = (n: number, data = '') => ({ type: 'data', name: String(n), data })
  const many = (count: number, data = '') =>
    Array.from({ length: count }, (_, n) => dataOf(n, data))

  it('allow 1,000 parts, and text behind them', () => {
    expect(collected(many(1_000))).toMatchObject({ isTruncated: false })
    const { parts = [], isTruncated, shown } = collected([...many(10_000), 'the', plan, ' end'])
    expect(parts).toHaveLength(1_001)
    expect(parts.at(-1)).toEqual(text('the end'))
    expect(isTruncated).toBe(true)
    expect(shown).toHaveLength(10_003)
  })
  it('allow 64 Ki characters of JSON in a part', () => {
    const most = 64 * 1024 - JSON.stringify(dataOf(0)).length
    expect(collected([dataOf(0, 'x'.repeat(most))])).toMatchObject({ isTruncated: false })
    expect(collected([dataOf(0, 'x'.repeat(most + 1)), plan])).toEqual({
      parts: [plan],
      isTruncated: true,
      shown: [plan],
      problems: [],
    })
  })
  it('allow 1 Mi characters of JSON in all', () => {
    const { parts = [], isTruncated } = collected([...many(100, 'x'.repeat(60_000)), plan])
    expect(JSON.stringify(parts).length).toBeLessThan(1024 * 1024)
    expect(parts).toHaveLength(17)
    expect(isTruncated).toBe(true)
  })
  it('do not count the text of input deltas, which is not stored', () => {
    const delta = { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: 'x'.repeat(60_000) }
    const { shown, ...stored } = collected([
      start,
      ...Array.from({ length: 18 }, () => delta),
      input,
    ])
    expect(shown).toHaveLength(20)
    expect(stored).toEqual({
      parts: [{ ...call, state: 'input-available', input: { q: 1 } }],
      isTruncated: false,
      problems: [],
    })
  })
  it('leave a tool call in its right state without a value that is too long', () => {
    const long = 'x'.repeat(64 * 1024)
    expect(collected([input, output, { ...output, output: long }])).toMatchObject({
      parts: [{ ...call, state: 'output-available', input: { q: 1 } }],
      isTruncated: true,
      shown: [input, output],
    })
    expect(collected([{ ...input, input: long }, output])).toMatchObject({
      parts: [{ ...call, state: 'output-available', output: 'hit' }],
    })
    expect(collected([plan, { ...plan, data: long }])).toMatchObject({
      parts: [plan],
      isTruncated: true,
    })
  })
  it('let readers have the results of calls that are not stored, of the last thousand', () => {
    const calls = Array.from({ length: 1_001 }, (_, n) => ({ ...start, toolCallId: `other ${n}` }))
    const results = [
      { ...output, toolCallId: 'other 0' },
      { ...output, toolCallId: 'other 1' },
    ]
    const again = { ...start, toolCallId: 'other 1' }
    const { shown, problems } = collected([...many(1_000), ...calls, ...results, again])
    expect(shown.slice(-2)).toEqual([results[1], again])
    expect(problems).toEqual(['tool-output-available has the id of no tool call'])
  })
})

const anEvent = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.record({
    type: fc.constant('reasoning-delta'),
    id: fc.constantFrom('a', 'b'),
    text: fc.string(),
  }),
  fc.constantFrom<PartEvent>(start, input, output, failed, plan, { ...plan, id: '2' }),
  fc.record({ type: fc.constant('data'), name: fc.constant('n'), data: fc.jsonValue() }),
  fc.anything(),
)

it('whatever a run emits, the text parts joined are the response, within the bounds', () => {
  fc.assert(
    fc.property(fc.array(anEvent), fc.option(fc.string({ unit: 'grapheme' })), (events, other) => {
      const { shown, problems, ...stored } = collected(events)
      const all = shown.filter((one) => typeof one === 'string').join('')
      const response = other ?? all
      const { parts = [text(response)] } = collected(events, response)
      const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []))
      expect(texts.join('')).toBe(response)
      expect(parts.length).toBeLessThanOrEqual(PART_LIMITS.parts + 1)
      expect(problems.length).toBeLessThanOrEqual(1)
      expect(JSON.parse(JSON.stringify(stored))).toEqual(stored)
      if (all.isWellFormed()) expect(JSON.stringify(parts).isWellFormed()).toBe(true)
    }),
  )
})
