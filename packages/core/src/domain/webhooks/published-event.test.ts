import { describe, expect, it } from 'vitest'
import { defaultLimits } from '../values/limits.js'
import type { WebhookEvent } from './event.js'
import { isForEndUser } from './event-person.js'
import {
  contentOf,
  decidePublish,
  eventRules,
  publishedEvent,
  type NewEvent,
} from './published-event.js'

const NEW: NewEvent = { type: 'order.paid', data: { orderId: 'o-1' } }
const born = { id: 'e-1', projectId: 'p', now: 0 }
const issuesOf = (event: object) =>
  Object.entries(eventRules(event as NewEvent, defaultLimits, 'events.1.')).filter(
    ([, rule]) => rule !== undefined,
  )

describe('an event to publish', () => {
  it('has no broken rule with all of its fields', () => {
    const agentId = '0198b2c4-0000-7a1b-8c2d-3e4f5a6b7c8d'
    const given = { id: 'e', endUserId: 'u', agentId, sessionId: 's', metadata: { channel: 1 } }
    expect(issuesOf({ ...NEW, ...given })).toEqual([])
  })

  it.each([
    [{ type: undefined }, 'type', 'is required'],
    [{ data: undefined }, 'data', 'is required'],
    [{ data: 7 }, 'data', 'must be an object'],
    [{ data: { a: Infinity } }, 'data', 'holds a number out of range'],
    [{ data: { a: 'x'.repeat(65_536) } }, 'data', 'must have at most 65536 characters as JSON'],
    [{ id: 7 }, 'id', 'must be a non-empty string'],
    [{ id: '.' }, 'id', 'must not be . or ..'],
    [{ id: '..' }, 'id', 'must not be . or ..'],
    [{ data: { at: new Date(0) } }, 'data', 'holds an object with toJSON, which JSON has not'],
    [{ endUserId: '' }, 'endUserId', 'must be a non-empty string'],
    [{ agentId: 'clerk' }, 'agentId', 'must be a UUID'],
    [{ sessionId: '' }, 'sessionId', 'must be a non-empty string'],
    [{ metadata: [] }, 'metadata', 'must be an object'],
  ])('%j breaks the rule of a field', (wrong, field, rule) => {
    expect(issuesOf({ ...NEW, ...wrong })).toEqual([[`events.1.${field}`, rule]])
  })

  it('has a field at one place only', () => {
    const both = { sessionId: 's', metadata: { channel: 'C1' } }
    const data = { ...both, channel: 'C2', agentId: 'mine' }
    expect(issuesOf({ ...NEW, ...both, data }).map(([path]) => path)).toEqual([
      'events.1.data.sessionId',
      'events.1.data.metadata',
      'events.1.data.channel',
    ])
  })

  it('has the same content in any order of its keys, with other fields another one', () => {
    const data = { a: 1, b: 2 }
    expect(contentOf({ ...NEW, data })).toBe(contentOf({ data: { b: 2, a: 1 }, type: NEW.type }))
    const fields = [
      {},
      { endUserId: 'u' },
      { agentId: 'u' },
      { sessionId: 'u' },
      { metadata: { u: 'u' } },
      { type: 'order.lost' },
    ]
    expect(new Set(fields.map((one) => contentOf({ ...NEW, ...one }))).size).toBe(fields.length)
  })
})

describe('a published event', () => {
  it('has the data of the host, byte by byte', () => {
    const { body, published, ...event } = publishedEvent(NEW, born)
    expect(body).toBe(
      '{"event":"order.paid","id":"e-1","createdAt":"1970-01-01T00:00:00.000Z","data":{"orderId":"o-1"}}',
    )
    expect(published).toEqual({})
    expect(event).toMatchObject({ id: 'e-1', name: 'order.paid', data: NEW.data })
  })

  it('has what was given beside the data, except the person', () => {
    const given = { agentId: 'a', sessionId: 's', metadata: { correlationId: 7 }, endUserId: 'u' }
    const more = { ...born, fingerprint: 'f', serviceUrl: 'https://x' }
    const event = publishedEvent({ ...NEW, ...given }, more)
    const { data } = JSON.parse(event.body) as { readonly data: object }
    expect(data).toEqual({
      orderId: 'o-1',
      agentId: 'a',
      sessionId: 's',
      metadata: { correlationId: 7 },
      correlationId: 7,
    })
    expect(event).toMatchObject({
      agentId: 'a',
      sessionId: 's',
      serviceUrl: 'https://x',
      published: { fingerprint: 'f', endUserId: 'u' },
    })
  })

  it('is of the person who was named, and of no other', () => {
    const principal = { executionPrincipal: { type: 'end_user', endUserId: 'u' } }
    const { body } = publishedEvent({ ...NEW, data: principal }, born)
    expect(isForEndUser({ name: 'order.paid', body, endUserId: 'v' }, 'v')).toBe(true)
    expect(isForEndUser({ name: 'order.paid', body, endUserId: null }, 'u')).toBe(false)
    expect(isForEndUser({ name: 'message.failed', body }, 'u')).toBe(true)
    expect(isForEndUser({ name: 'message.failed', body }, 'v')).toBe(false)
    const without = '{"data":{"note":"\\"endUserId\\":\\"u\\""}}'
    expect(isForEndUser({ name: 'message.failed', body: without }, 'u')).toBe(false)
    const quoted = '{"data":{"metadata":{"endUserId":"u"}}}'
    expect(isForEndUser({ name: 'message.failed', body: quoted }, 'u')).toBe(false)
  })
})

describe('a request to publish', () => {
  const named = publishedEvent(NEW, { ...born, fingerprint: 'f' })
  const plain = publishedEvent(NEW, { ...born, id: 'e-2' })
  const asked = { key: 'k', fingerprint: 'r' }
  const NOTHING = {
    sameIds: [],
    asked: undefined,
    stored: undefined,
    deliveriesOf: () => 1,
    hasAgent: () => true,
  }

  it('is new', () => {
    const events = [named, plain]
    expect(decidePublish(events, NOTHING)).toEqual({ kind: 'new', events })
    expect(decidePublish(events, { ...NOTHING, asked })).toEqual({ kind: 'new', events })
  })

  it('is a repetition, new in part, or something else', () => {
    const decide = (events: readonly WebhookEvent[], id: string, fingerprint: string | null) =>
      decidePublish(events, { ...NOTHING, sameIds: [{ id, fingerprint }] })
    expect(decide([named], 'e-1', 'f')).toEqual({ kind: 'replayed' })
    expect(decide([plain], 'e-2', null)).toEqual({ kind: 'replayed' })
    expect(decide([named, plain], 'e-1', 'f')).toEqual({ kind: 'new', events: [plain] })
    expect(decide([named, plain], 'e-1', null)).toEqual({ kind: 'mismatch', ids: ['e-1'] })
  })

  it('is decided by its key alone, if the key is known', () => {
    const known = { ...NOTHING, asked }
    expect(decidePublish([named], { ...known, stored: 'r' })).toEqual({ kind: 'replayed' })
    expect(decidePublish([named], { ...known, stored: 'x' })).toEqual({ kind: 'mismatch', ids: [] })
  })

  it('is refused if the agent of a new event does not exist', () => {
    const events = ['a', 'b', 'c'].map((id) => publishedEvent(NEW, { ...born, id }))
    const sameIds = [{ id: 'b', fingerprint: null }]
    const known = { ...NOTHING, sameIds, hasAgent: ({ id }: { id: string }) => id === 'a' }
    expect(decidePublish(events, known)).toEqual({ kind: 'agent_not_found', ids: ['c'] })
    expect(decidePublish(events.slice(0, 2), known)).toMatchObject({ kind: 'new' })
  })

  it('makes 2,000 deliveries at most, without those of events that are stored', () => {
    const events = ['a', 'b', 'c', 'd'].map((id) => publishedEvent(NEW, { ...born, id }))
    const many = { ...NOTHING, deliveriesOf: () => 1_000 }
    expect(decidePublish(events, many)).toEqual({ kind: 'too_many_deliveries', fits: 2 })
    const sameIds = [{ id: 'a', fingerprint: null }]
    expect(decidePublish(events, { ...many, sameIds })).toEqual({
      kind: 'too_many_deliveries',
      fits: 3,
    })
    expect(decidePublish(events.slice(0, 3), { ...many, sameIds })).toMatchObject({ kind: 'new' })
    const one = { ...NOTHING, deliveriesOf: () => 3_000 }
    expect(decidePublish([plain], one)).toMatchObject({ kind: 'new' })
  })
})
