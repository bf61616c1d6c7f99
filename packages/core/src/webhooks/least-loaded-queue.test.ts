import { expect, it } from 'vitest'
import { LeastLoadedQueue } from './least-loaded-queue.js'

it('returns the item with the least load, and of equal items the one that has had it longest', () => {
  const queue = new LeastLoadedQueue<string>()
  expect(queue.first()).toBeUndefined()
  for (const [item, load] of [
    ['a', 1],
    ['b', 0],
    ['c', 0],
  ] as const)
    queue.put(item, load)
  expect(queue.first()).toBe('b')
  queue.put('b', 1)
  expect(queue.first()).toBe('c')
  queue.put('c', 1)
  expect(queue.first()).toBe('a')
})

it('keeps the place of an item whose load is noted again', () => {
  const queue = new LeastLoadedQueue<string>()
  for (const item of ['a', 'b', 'a']) queue.put(item, 2)
  expect(queue.first()).toBe('a')
})

it('forgets what is removed, and minds nothing that it does not have', () => {
  const queue = new LeastLoadedQueue<string>()
  queue.put('a', 3)
  queue.remove('a')
  queue.remove('b')
  expect(queue.first()).toBeUndefined()
})
