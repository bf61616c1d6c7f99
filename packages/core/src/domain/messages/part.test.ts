import { describe, expect, it } from 'vitest'
import { parsePartEvent } from './part.js'

const file = { type: 'file', url: 'https://files.example/a.pdf', mediaType: 'application/pdf' }
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])

describe('a part event', () => {
  it.each<object>([
    { type: 'text-delta', text: '' },
    { type: 'reasoning-delta', id: 'r', text: 'half \uD83D' },
    { type: 'tool-input-start', toolCallId: 'c', toolName: 'search', title: 'Search' },
    { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{"q' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'search', input: { q: ['a', 1] } },
    { type: 'tool-output-available', toolCallId: 'c', output: '</script>', preliminary: true },
    { type: 'tool-output-error', toolCallId: 'c', errorText: '' },
    { type: 'data', name: 'plan', id: '1', data: null },
    { type: 'data', name: 'plan', data: deep(64) },
    { ...file, filename: 'a.pdf', size: 0 },
    { ...file, url: 'HTTP://files.example/ä?b=1' },
    { type: 'source-url', sourceId: 's', url: 'https://example.com/', title: 'Example' },
    { type: 'start-step', name: 'one' },
    { type: 'start-step' },
    { type: 'finish-step' },
  ])('can be %j', (event) => {
    expect(parsePartEvent({ ...event, other: 1 })).toEqual(event)
  })

  it('can leave out a field with null, and a tool can return nothing', () => {
    expect(parsePartEvent({ type: 'start-step', name: null })).toEqual({ type: 'start-step' })
    const output = { type: 'tool-output-available', toolCallId: 'c' }
    expect(parsePartEvent({ ...output, output: undefined })).toEqual({ ...output, output: null })
  })

  it('is a copy', () => {
    const data = { steps: ['a'] }
    const parsed = parsePartEvent({ type: 'data', name: 'plan', data })
    data.steps.push('b')
    expect(parsed).toMatchObject({ data: { steps: ['a'] } })
  })

  const circle: unknown[] = []
  circle.push(circle)
  it.each<[string, unknown]>([
    ['is not an object of JSON', 'text'],
    ['is not an object of JSON', undefined],
    ['is not an object of JSON', { type: 'data', name: 'n', data: 1n }],
    ['is not an object of JSON', { type: 'data', name: 'n', data: circle }],
    ['has an unknown type', {}],
    ['has an unknown type', { type: 'toString' }],
    ['text-delta has a text that is not a text', { type: 'text-delta', text: 1 }],
    [
      'tool-input-start has a toolName that is not a text',
      { type: 'tool-input-start', toolCallId: 'c' },
    ],
    ['has more than 1024 characters', { type: 'start-step', name: 'x'.repeat(1_025) }],
    ['holds NUL or a lone surrogate', { type: 'start-step', name: '\uD83D' }],
    ['is not a text', { type: 'reasoning-delta', id: 'r' }],
    ['holds NUL', { type: 'reasoning-delta', id: 'r', text: '\0' }],
    ['holds NUL', { type: 'tool-output-error', toolCallId: 'c', errorText: '\0' }],
    [
      'holds NUL or a lone surrogate',
      { type: 'tool-output-error', toolCallId: 'c', errorText: '\uDE00' },
    ],
    ['holds NUL or a lone surrogate', { type: 'data', name: 'n', data: ['\0'] }],
    ['is nested too deeply', { type: 'data', name: 'n', data: deep(65) }],
    ['is not true or false', { type: 'tool-output-available', toolCallId: 'c', preliminary: 1 }],
    ['is not a count of bytes', { ...file, size: -1 }],
    ['is not a count of bytes', { ...file, size: 1.5 }],
    ...[
      7,
      'data:text/html,x',
      'javascript:alert(1)',
      'java\nscript:alert(1)',
      ' https://example.com',
      'https://exa mple.com',
      'https://\u0085',
      'https://[',
      `https://example.com/${'x'.repeat(8_192)}`,
      'https://example.com/\uD83D',
    ].map((url): [string, unknown] => ['is not an http: or https: URL', { ...file, url }]),
  ])('%s', (problem, given) => {
    expect(parsePartEvent(given)).toContain(problem)
  })
})
