import { expect, it } from 'vitest'
import { freezeEvent, type EventPayload } from './event.js'
import { sampleEvent } from './event-samples.js'
import { bodyWithParts, MAX_PARTS_BODY, ownBody } from './own-body.js'

const thin = { payload: 'thin' } as const
const dataOf = (event: Parameters<typeof ownBody>[1]): unknown =>
  (JSON.parse(ownBody(thin, event) ?? '') as { data: unknown }).data

it('a full body is that of the event', () => {
  const event = freezeEvent(sampleEvent('message.responded'), 'e', 'p', 0)
  expect(ownBody({ payload: 'full' }, event)).toBeUndefined()
})

it('a body with parts has the parts as far as there is room, and else says so', () => {
  const sample = sampleEvent('message.responded')
  const event = freezeEvent(sample, 'e', 'p', 0)
  const dataWith = (text: string, isTruncated: boolean, response = 'Hello!') => {
    const answer = freezeEvent({ ...sample, data: { ...sample.data, response } }, 'e', 'p', 0)
    const body = bodyWithParts(answer, { parts: [{ type: 'text', text }], isTruncated })
    expect(body?.length ?? 0).toBeLessThanOrEqual(MAX_PARTS_BODY)
    return body && (JSON.parse(body) as { data: object }).data
  }
  const parts = [{ type: 'text', text: '</script>' }]
  expect(dataWith('</script>', false)).toEqual({ ...sample.data, parts })
  expect(dataWith('</script>', true)).toEqual({ ...sample.data, parts, partsTruncated: true })
  const long = 'x'.repeat(MAX_PARTS_BODY)
  expect(dataWith(long, false)).toEqual({ ...sample.data, partsTruncated: true })
  expect(dataWith('a', false, long)).toBeUndefined()
  const asksForParts = { payload: 'parts' } as const
  expect(ownBody(asksForParts, { ...event, partsBody: '{}' })).toBe('{}')
  expect(ownBody(asksForParts, event)).toBeUndefined()
})

it('a thin body has the ids of a message and the URL of the event, and no text', () => {
  const event = freezeEvent(sampleEvent('message.responded'), 'e', 'p', 0, 'https://a.example/b/')
  const { messageId, agentId, sessionId } = event
  expect(ownBody(thin, event)).toBe(
    JSON.stringify({
      event: 'message.responded',
      id: 'e',
      createdAt: '1970-01-01T00:00:00.000Z',
      data: { messageId, agentId, sessionId, url: 'https://a.example/b/v1/events/e' },
    }),
  )
})

it.each<[EventPayload['event'], readonly string[]]>([
  ['delivery.exhausted', ['webhookId', 'deliveryId', 'eventId', 'url']],
  ['webhook.disabled', ['webhookId', 'url']],
  ['agent.started', ['agentId', 'url']],
])('a thin body of %s has %j', (name, fields) => {
  const payload = sampleEvent(name as 'agent.started')
  expect(Object.keys(dataOf(freezeEvent(payload, 'e', 'p', 0)) as object)).toEqual(fields)
})

it('a thin body of a published event has the ids of the event, and none of its data', () => {
  const event = { id: 'a/b', projectId: 'p', name: 'order.paid', body: '{}', createdAt: 0 }
  const data = { messageId: 'theirs', agentId: 'theirs', orderId: 7 }
  const url = '/v1/events/a%2Fb'
  expect(dataOf({ ...event, data })).toEqual({ url })
  expect(dataOf({ ...event, data, sessionId: 's' })).toEqual({ sessionId: 's', url })
  expect(dataOf({ ...event, agentId: 'a' })).toEqual({ agentId: 'a', url })
  expect(dataOf({ ...event, name: 'webhook.test' })).toEqual({ url })
})
