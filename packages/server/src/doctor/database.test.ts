import { expect, it } from 'vitest'
import { checkBacklog, checkCircuits, checkDeliveries } from './database.js'

const NOW = 10 * 3_600_000
const none = { count: 0 }
const held = { disabled: none, paused: none, circuit: none, limit: none, order: none }
const backlog = {
  open: 9,
  due: 2,
  held,
  disabledWebhooks: 0,
  openCircuits: 0,
  halfOpenCircuits: 0,
}

it('the check of deliveries passes if no delivery has been held for an hour', () => {
  const circuit = { count: 3, oldestAt: NOW - 3_599_999 }
  const order = { count: 1, oldestAt: 0 }
  expect(checkDeliveries({ ...backlog, held: { ...held, circuit, order } }, NOW)).toEqual({
    check: 'deliveries',
    status: 'ok',
    message: '2 due, 4 held',
  })
})

it('the check of deliveries warns of each cause that an operator can end', () => {
  const circuit = { count: 3, oldestAt: NOW - 2 * 3_600_000 }
  const paused = { count: 1, oldestAt: 0 }
  expect(checkDeliveries({ ...backlog, held: { ...held, circuit, paused } }, NOW)).toEqual({
    check: 'deliveries',
    status: 'warning',
    message:
      'due deliveries are held (paused: 1, the oldest for 10 h; circuit: 3, the oldest for 2 h)',
    fix: 'See the health of the webhooks: agent-messaging webhooks list.',
  })
})

it.each([
  [0, 0, 'ok', 'all are closed'],
  [2, 0, 'warning', '2 open, 0 half-open'],
  [0, 1, 'warning', '0 open, 1 half-open'],
])('%i open and %i half-open circuits: %s', (openCircuits, halfOpenCircuits, status, message) => {
  expect(checkCircuits({ openCircuits, halfOpenCircuits })).toMatchObject({ status, message })
})

it.each([
  [{}, {}, 'ok', 'no work has waited for minutes'],
  [{ oldestDueAt: NOW - 299_999 }, { oldestDueAt: NOW + 1 }, 'ok', /^no work/],
  [{ oldestDueAt: NOW - 300_000 }, {}, 'warning', /^the oldest message has been due for 5 min$/],
  [
    { oldestDueAt: NOW - 600_000 },
    { oldestDueAt: NOW - 900_000 },
    'warning',
    /message has been due for 10 min, and the oldest delivery has been due for 15 min$/,
  ],
])('a backlog of messages %j and deliveries %j: %s', (messages, deliveries, status, message) => {
  expect(checkBacklog({ messages, deliveries }, NOW)).toMatchObject({
    status,
    message: expect.stringMatching(message),
  })
})
