import { expect, it } from 'vitest'
import { checkDeliveries } from './deliveries.js'

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
