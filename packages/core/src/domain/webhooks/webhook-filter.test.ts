import { describe, expect, it } from 'vitest'
import {
  filterRules,
  lineOf,
  type FilterCondition,
  matchesFilter,
  type FilteredEvent,
  type WebhookFilter,
} from './webhook-filter.js'

const METADATA = { plan: 'gold', seats: 3, tags: ['a'], note: null, customer: { id: 'c1' } }
const ofMessage: FilteredEvent = {
  agentId: 'agent-1',
  sessionId: 'chat/42',
  metadata: { ...METADATA, 'a.b': 1, '': 'no name' },
}
const ofAgent: FilteredEvent = { agentId: 'agent-1' }

const equals = (path: string, value: string | number | boolean | null): WebhookFilter => ({
  metadata: [{ path, equals: value }],
})
const DATA = { order: { id: 'DE-7' }, amount: 250, list: ['DE-'], nothing: undefined }
const published: FilteredEvent = { data: JSON.parse('{"__proto__":{"x":1},"y":2}') as object }
const test = (one: object): WebhookFilter => ({ data: [one as FilterCondition] })
const exists = (path: string, wanted = true): WebhookFilter => ({
  metadata: [{ path, exists: wanted }],
})

describe('matchesFilter', () => {
  it.each<[string, WebhookFilter | undefined, FilteredEvent, boolean]>([
    ['no filter', undefined, {}, true],
    ['the same agent', { agentId: 'agent-1' }, ofAgent, true],
    ['another agent', { agentId: 'agent-2' }, ofAgent, false],
    ['an agent, for an event without one', { agentId: 'agent-1' }, {}, false],
    ['a prefix of the session', { sessionIdPrefix: 'chat/' }, ofMessage, true],
    ['the whole session id', { sessionIdPrefix: 'chat/42' }, ofMessage, true],
    ['a longer text than the session id', { sessionIdPrefix: 'chat/421' }, ofMessage, false],
    ['a text inside the session id', { sessionIdPrefix: '42' }, ofMessage, false],
    ['a prefix in capitals', { sessionIdPrefix: 'Chat' }, ofMessage, false],
    ['a session, for an event without one', { sessionIdPrefix: 'chat' }, ofAgent, false],
    ['an equal string', equals('plan', 'gold'), ofMessage, true],
    ['another string', equals('plan', 'silver'), ofMessage, false],
    ['an equal number', equals('seats', 3), ofMessage, true],
    ['the number as text', equals('seats', '3'), ofMessage, false],
    ['null', equals('note', null), ofMessage, true],
    ['null, for a missing path', equals('missing', null), ofMessage, false],
    ['a nested value', equals('customer.id', 'c1'), ofMessage, true],
    ['a path through a string', equals('plan.length', 4), ofMessage, false],
    ['a path through a list', exists('tags.0'), ofMessage, false],
    ['a path through null', exists('note.more'), ofMessage, false],
    ['an inherited property', exists('toString'), ofMessage, false],
    ['a present value', exists('tags'), ofMessage, true],
    ['a present null', exists('note'), ofMessage, true],
    ['a missing path', exists('missing'), ofMessage, false],
    ['the absence of a missing path', exists('customer.name', false), ofMessage, true],
    ['the absence of a present path', exists('customer.id', false), ofMessage, false],
    ['absence, for an event without metadata', exists('missing', false), ofAgent, false],
    ['absence, for a message without metadata', exists('plan', false), { metadata: {} }, true],
    ['data with a prefix', test({ path: 'order.id', prefix: 'DE-' }), { data: DATA }, true],
    ['data with another prefix', test({ path: 'order.id', prefix: 'de-' }), { data: DATA }, false],
    ['a prefix of a number', test({ path: 'amount', prefix: '2' }), { data: DATA }, false],
    ['a prefix of a list', test({ path: 'list', prefix: 'DE-' }), { data: DATA }, false],
    ['the least number', test({ path: 'amount', min: 250 }), { data: DATA }, true],
    ['a number below', test({ path: 'amount', min: 251 }), { data: DATA }, false],
    ['the greatest number', test({ path: 'amount', max: 250 }), { data: DATA }, true],
    ['a number above', test({ path: 'amount', min: 0, max: 249 }), { data: DATA }, false],
    ['a number of a missing path', test({ path: 'missing', max: 1 }), { data: DATA }, false],
    ['a range of a text', test({ path: 'order.id', min: 0 }), { data: DATA }, false],
    ['undefined as absent', test({ path: 'nothing', exists: false }), { data: DATA }, true],
    ['an event without data', test({ path: 'x', exists: false }), {}, false],
    ['an own key __proto__', test({ path: '__proto__.x', equals: 1 }), published, true],
    ['an inherited __proto__', test({ path: '__proto__', exists: true }), { data: DATA }, false],
    [
      'data beside metadata',
      { ...test({ path: 'y', min: 2 }), ...equals('plan', 'gold') },
      published,
      false,
    ],
    [
      'every condition',
      { agentId: 'agent-1', sessionIdPrefix: 'chat', ...equals('plan', 'gold') },
      ofMessage,
      true,
    ],
    [
      'all conditions but one',
      { agentId: 'agent-1', sessionIdPrefix: 'mail', ...equals('plan', 'gold') },
      ofMessage,
      false,
    ],
  ])('%s', (_, filter, event, expected) => {
    expect(matchesFilter(filter, event)).toBe(expected)
  })
})

describe('filterRules', () => {
  const problems = (filter: unknown): string[] =>
    Object.entries(filterRules(filter as WebhookFilter)).flatMap(([path, problem]) =>
      problem === undefined ? [] : [path],
    )
  const conditions = (count: number) =>
    Array.from({ length: count }, () => ({ path: 'a', exists: true }))

  it.each<[string, unknown]>([
    ['an agent', { agentId: 'agent-1' }],
    ['a prefix', { sessionIdPrefix: 'x' }],
    ['ten conditions', { metadata: conditions(10) }],
    ['an empty string', { metadata: [{ path: 'a', equals: '' }] }],
    ['null', { metadata: [{ path: 'a.b', equals: null }] }],
    ['a prefix of data', { data: [{ path: 'a', prefix: 'x' }] }],
    [
      'ranges',
      {
        data: [
          { path: 'a', min: -1 },
          { path: 'a', max: -1 },
          { path: 'a', min: 1, max: 1 },
        ],
      },
    ],
    ['ten conditions of each kind', { metadata: conditions(10), data: conditions(10) }],
    ['ten keys', { metadata: [{ path: 'a.b.c.d.e.f.g.h.i.j', exists: false }] }],
  ])('accepts %s', (_, filter) => {
    expect(problems(filter)).toEqual([])
  })

  it.each<[string, unknown, string]>([
    ['nothing', {}, 'filter'],
    ['an empty prefix', { sessionIdPrefix: '' }, 'filter.sessionIdPrefix'],
    ['a long prefix', { sessionIdPrefix: 'x'.repeat(257) }, 'filter.sessionIdPrefix'],
    ['no condition', { metadata: [] }, 'filter.metadata'],
    ['eleven conditions', { metadata: conditions(11) }, 'filter.metadata'],
    ['an empty key', { metadata: [{ path: 'a..b', exists: true }] }, 'filter.metadata.0.path'],
    [
      'a long path',
      { metadata: [{ path: 'x'.repeat(201), exists: true }] },
      'filter.metadata.0.path',
    ],
    [
      'eleven keys',
      { metadata: [{ path: 'a.b.c.d.e.f.g.h.i.j.k', exists: true }] },
      'filter.metadata.0.path',
    ],
    ['a path alone', { metadata: [{ path: 'a' }] }, 'filter.metadata.0'],
    ['two tests', { metadata: [{ path: 'a', equals: 1, exists: true }] }, 'filter.metadata.0'],
    ['a text in exists', { metadata: [{ path: 'a', exists: 'yes' }] }, 'filter.metadata.0'],
    ['an object', { metadata: [{ path: 'a', equals: {} }] }, 'filter.metadata.0'],
    [
      'a long string',
      { metadata: [{ path: 'a', equals: 'x'.repeat(1_001) }] },
      'filter.metadata.0',
    ],
    ['no condition on data', { data: [] }, 'filter.data'],
    ['eleven conditions on data', { data: conditions(11) }, 'filter.data'],
    ['an empty key of data', { data: [{ path: '', exists: true }] }, 'filter.data.0.path'],
    ['an empty prefix of a value', { data: [{ path: 'a', prefix: '' }] }, 'filter.data.0'],
    ['a number as prefix', { data: [{ path: 'a', prefix: 1 }] }, 'filter.data.0'],
    ['a prefix in a range', { data: [{ path: 'a', prefix: 'x', min: 1 }] }, 'filter.data.0'],
    ['a text as min', { data: [{ path: 'a', min: '1' }] }, 'filter.data.0'],
    ['an empty range', { data: [{ path: 'a', min: 2, max: 1 }] }, 'filter.data.0'],
    ['an endless range', { data: [{ path: 'a', max: Infinity }] }, 'filter.data.0'],
    ['a number out of range', { metadata: [{ path: 'a', equals: Infinity }] }, 'filter.metadata.0'],
  ])('refuses %s', (_, filter, path) => {
    expect(problems(filter)).toEqual([path])
  })
})

it.each<[FilterCondition, string]>([
  [{ path: 'a.b', equals: 'x' }, 'a.b = "x"'],
  [{ path: 'a', exists: true }, 'a exists'],
  [{ path: 'a', exists: false }, 'a missing'],
  [{ path: 'a', prefix: 'x' }, 'a starts with "x"'],
  [{ path: 'a', min: 1 }, 'a from 1'],
  [{ path: 'a', max: 2 }, 'a to 2'],
  [{ path: 'a b', max: 2 }, '{"path":"a b","max":2}'],
])('the condition %j is the line %s', (condition, line) => expect(lineOf(condition)).toBe(line))
