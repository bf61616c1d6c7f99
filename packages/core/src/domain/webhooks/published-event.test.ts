import { describe, expect, it } from 'vitest'
import { defaultLimits } from '../values/limits.js'
import { isForEndUser } from './event-person.js'
import {
  contentOf,
  decidePublish,
  eventRules,
  eventsThatFit,
  ofRequest,
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

  it('is new, and its first event remembers its key', () => {
    expect(decidePublish([named, plain], [], {})).toEqual({ kind: 'new', events: [named, plain] })
    expect(decidePublish([named, plain], [], { asked })).toEqual({
      kind: 'new',
      events: [{ ...named, published: { fingerprint: 'f', request: asked } }, plain],
    })
    expect(ofRequest([], asked)).toEqual([])
  })

  it('is a repetition, new in part, or something else', () => {
    const same = { id: 'e-1', fingerprint: 'f' }
    expect(decidePublish([named], [same], {})).toEqual({ kind: 'replayed' })
    expect(decidePublish([plain], [{ id: 'e-2', fingerprint: null }], {})).toEqual({
      kind: 'replayed',
    })
    expect(decidePublish([named, plain], [same], {})).toEqual({ kind: 'new', events: [plain] })
    const other = { id: 'e-1', fingerprint: null }
    expect(decidePublish([named, plain], [other], {})).toEqual({ kind: 'mismatch', ids: ['e-1'] })
  })

  it('is decided by its key alone, if the key is known', () => {
    expect(decidePublish([named], [], { asked, stored: 'r' })).toEqual({ kind: 'replayed' })
    expect(decidePublish([named], [], { asked, stored: 'x' })).toEqual({
      kind: 'mismatch',
      ids: [],
    })
  })

  it('makes 2,000 deliveries at most', () => {
    expect(eventsThatFit([])).toBe(0)
    expect(eventsThatFit([1_000, 1_000])).toBe(2)
    expect(eventsThatFit([1_000, 1_000, 1, 5])).toBe(2)
  })
})
