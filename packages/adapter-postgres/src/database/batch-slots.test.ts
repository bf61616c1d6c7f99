import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { BatchSlots } from './batch-slots.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

function acquiring(slots: BatchSlots) {
  const running: string[] = []
  const frees = new Map<string, () => void>()
  const acquire = (name: string): void =>
    slots.acquire((free) => {
      running.push(name)
      frees.set(name, free)
    })
  return { running, acquire, free: (name: string) => frees.get(name)?.() }
}

it('slots are given in the order of the calls, and each can be freed once', () => {
  const { running, acquire, free } = acquiring(new BatchSlots(2, 50))
  for (const name of ['a', 'b', 'c', 'd', 'e']) acquire(name)
  expect(running).toEqual(['a', 'b'])
  free('b')
  expect(running).toEqual(['a', 'b', 'c'])
  free('b')
  expect(running).toEqual(['a', 'b', 'c'])
  free('a')
  free('c')
  expect(running).toEqual(['a', 'b', 'c', 'd', 'e'])
  free('d')
  free('e')
  acquire('f')
  expect(running.at(-1)).toBe('f')
})

it('a slow batch frees its slot', () => {
  const { running, acquire, free } = acquiring(new BatchSlots(1, 50))
  for (const name of ['slow', 'b', 'c']) acquire(name)
  vi.advanceTimersByTime(49)
  expect(running).toEqual(['slow'])
  vi.advanceTimersByTime(1)
  expect(running).toEqual(['slow', 'b'])
  free('slow')
  expect(running).toEqual(['slow', 'b'])
})
