import { describe, expect, it } from 'vitest'
import { openDeliveries, type OpenQueue } from './backlog.js'

const NOW = 1_000
const queue: OpenQueue = {
  webhookId: 'a',
  open: 5,
  due: 3,
  oldestAt: 400,
  isDisabled: false,
  isPaused: false,
  circuitUntil: null,
}
const none = { count: 0 }
const noneHeld = { disabled: none, paused: none, circuit: none, limit: none, order: none }
const of = (queues: readonly OpenQueue[], limited: readonly string[] = []) =>
  openDeliveries(queues, NOW, new Set(limited), none)

describe('open deliveries', () => {
  it('are due if their webhook accepts them', () => {
    expect(of([])).toEqual({ open: 0, due: 0, held: noneHeld })
    expect(of([queue, { ...queue, oldestAt: 300 }])).toEqual({
      open: 10,
      due: 6,
      oldestDueAt: 300,
      held: noneHeld,
    })
  })

  it.each([
    ['disabled', { isDisabled: true, isPaused: true }],
    ['paused', { isPaused: true, circuitUntil: NOW + 1 }],
    ['circuit', { circuitUntil: NOW + 1 }],
    ['limit', { webhookId: 'limited' }],
  ] as const)('are held by the cause %s', (cause, change) => {
    expect(of([{ ...queue, ...change }], ['limited'])).toEqual({
      open: 5,
      due: 0,
      held: { ...noneHeld, [cause]: { count: 3, oldestAt: 400 } },
    })
  })

  it('of a half-open circuit are held, except the probe, which can be sent since the circuit ended', () => {
    expect(of([{ ...queue, circuitUntil: 900 }])).toEqual({
      open: 5,
      due: 1,
      oldestDueAt: 900,
      held: { ...noneHeld, circuit: { count: 2, oldestAt: 400 } },
    })
    expect(of([{ ...queue, due: 0, oldestAt: 2_000, circuitUntil: 900 }])).toEqual({
      open: 5,
      due: 0,
      held: noneHeld,
    })
  })

  it('that wait for their order are held, beside any other cause', () => {
    expect(openDeliveries([queue], NOW, new Set(), { count: 2, oldestAt: 7 })).toMatchObject({
      due: 3,
      held: { order: { count: 2, oldestAt: 7 } },
    })
  })
})
