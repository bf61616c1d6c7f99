import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../values/json.js'
import { valueRule } from '../values/setting.js'
import { eventTypeRule } from './event-name.js'
import { EVENT_NAMES } from './event.js'
import {
  dataIssue,
  eventTypeSettings,
  listedType,
  ownEventTypes,
  typeIssues,
  type EventType,
  type TypedData,
} from './event-type.js'

const schemaOf = (schema: unknown) => valueRule(eventTypeSettings.schema, schema)
const exampleOf = (example: unknown) => valueRule(eventTypeSettings.example, example)
const nested = (depth: number): Json => (depth === 0 ? 1 : { in: nested(depth - 1) })
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, {}]))

describe('the schema of a type', () => {
  it('is one of the schemas of questions, of at most 64 KiB', () => {
    expect(schemaOf({ type: 'object', properties: properties(3_000) })).toBeUndefined()
    expect(schemaOf({ $ref: '#' })).toMatch('$ref')
    expect(schemaOf('object')).toMatch('not an object')
    expect(schemaOf({ title: 'x'.repeat(65_536) })).toMatch('more than 65536 characters')
  })
})

describe('the example of a type', () => {
  it.each([
    [{ id: 1 }, undefined],
    [nested(16), undefined],
    [nested(17), 'is nested too deeply'],
    [['id'], 'must be an object'],
    [{ id: '\0' }, 'holds NUL or a lone surrogate'],
    [{ id: 'x'.repeat(65_536) }, 'must have at most 65536 characters as JSON'],
  ])('%# is checked', (example, problem) => {
    expect(exampleOf(example)).toBe(problem)
  })
})

describe('the data of an event', () => {
  const schema: JsonObject = {
    properties: { items: { items: { properties: { price: { type: 'number' } } } } },
  }

  it('matches the schema, if the type has one', () => {
    expect(dataIssue(undefined, { any: 1 }, 'data')).toBeUndefined()
    expect(dataIssue(schema, { items: [{ price: 1 }] }, 'data')).toBeUndefined()
  })

  it('names the place that does not match', () => {
    expect(dataIssue(schema, { items: [{ price: 1 }, { price: '1' }] }, 'data')).toEqual({
      path: 'data.items.1.price',
      message: expect.stringContaining('does not match the schema at /items/1/price'),
    })
    expect(dataIssue({ required: ['id'] }, {}, 'example')).toMatchObject({ path: 'example' })
  })

  it('has at most 500,000 values for each schema', () => {
    const wide = { properties: properties(999) }
    const data = (values: number) => ({ list: Array<Json>(values - 2).fill(0) })
    expect(dataIssue(wide, data(500), 'data')).toBeUndefined()
    expect(dataIssue(wide, data(501), 'data')).toEqual({
      path: 'data',
      message: 'must have at most 500 values',
    })
  })
})

describe('a strict catalogue', () => {
  const paid: EventType = {
    name: 'order.paid',
    definedBy: 'project',
    schema: { required: ['id'] },
    deprecated: true,
    visible: false,
  }
  it('accepts events of its types, also deprecated ones, and names each wrong place', () => {
    const events = [
      { type: 'order.paid', data: { id: 1 } },
      { type: 'order.lost', data: {} },
      { type: 'order.paid', data: {} },
    ]
    expect(typeIssues(events, [paid], (index) => `events.${index}.`)).toEqual([
      { path: 'events.1.type', message: 'is not in the catalogue of event types' },
      { path: 'events.2.data', message: expect.stringContaining('required property "id"') },
    ])
  })

  it('reads a schema once for all events of a request', () => {
    let reads = 0
    const required = { enumerable: true, get: () => ++reads && ['id'] }
    const schema = Object.defineProperties({}, { required }) as JsonObject
    const readsFor = (count: number) => {
      reads = 0
      const event: TypedData = { type: 'order.paid', data: { id: 1 } }
      const events = Array.from({ length: count }, () => event)
      expect(typeIssues(events, [{ ...paid, schema }], () => '')).toEqual([])
      return reads
    }
    expect(readsFor(100)).toBe(readsFor(1))
  })

  it('names whole steps', () => {
    const items = { allOf: Array.from({ length: 300 }, () => ({ type: 'number' })) }
    const type = { ...paid, schema: { properties: { list: { items } } } }
    const event = { type: 'order.paid', data: { list: Array<Json>(1_000).fill(1) } }
    expect(typeIssues([event, event, event], [type], () => '')[0]?.message).toBe(
      'needs more than 333333 steps to be checked',
    )
  })
})

it('the catalogue begins with the events of the service, which nobody can define', () => {
  expect(ownEventTypes.map(({ name }) => name)).toEqual(EVENT_NAMES)
  for (const type of ownEventTypes) {
    expect(eventTypeRule(type.name)).toMatch('must not begin with')
    expect(exampleOf(type.example)).toBeUndefined()
    expect(listedType(type)).toEqual({
      name: type.name,
      definedBy: 'service',
      description: type.description,
      deprecated: false,
      visible: true,
      hasExample: true,
    })
  }
  const bare: EventType = { name: 'a.b', definedBy: 'project', deprecated: false, visible: false }
  expect(listedType(bare)).toMatchObject({ hasExample: false })
})
