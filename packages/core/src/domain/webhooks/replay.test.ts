import { expect, it } from 'vitest'
import { isReplayed, replayedEvent } from './recovery.js'

const rest = { projectId: 'p', serviceUrl: 'https://x' }
const row = (name: string, data: object) => ({
  id: 'e',
  name,
  createdAt: 7,
  body: JSON.stringify({ data }),
  agentId: null,
  sessionId: null,
})

it('an event of the log has again what filters read', () => {
  const own = replayedEvent(row('message.responded', { agentId: 'a', metadata: { n: 1 } }), rest)
  expect(own).toMatchObject({ ...rest, agentId: 'a', metadata: { n: 1 }, createdAt: 7 })
  const data = { agentId: 'of the host' }
  const published = replayedEvent({ ...row('order.paid', data), sessionId: 's' }, rest)
  expect(published).toMatchObject({ data, sessionId: 's' })
  expect(published.agentId).toBeUndefined()
  expect(replayedEvent({ ...row('order.paid', {}), agentId: 'a' }, rest).agentId).toBe('a')
})

it.each([
  ['order.paid', undefined, true],
  ['order.paid', ['order.*'], true],
  ['order.paid', ['order.lost'], false],
  ['invoice.paid', undefined, false],
  ['webhook.test', undefined, false],
])('%s of the types %j is sent again: %s', (name, types, isSent) => {
  const webhook = { events: name === 'webhook.test' ? ['*'] : ['order.*'] }
  expect(isReplayed(webhook, types, replayedEvent(row(name, {}), rest))).toBe(isSent)
})
