import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createGate, type Gate } from './gate.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

function entering(gate: Gate) {
  const inside: string[] = []
  const leaves = new Map<string, () => void>()
  const enter = (name: string): void =>
    gate.enter((leave) => (inside.push(name), void leaves.set(name, leave)))
  return { inside, enter, leave: (name: string) => leaves.get(name)?.() }
}

it('lets so many in, and the others in their order as places come free', () => {
  const { inside, enter, leave } = entering(createGate(2, 50))
  for (const name of ['a', 'b', 'c', 'd', 'e']) enter(name)
  expect(inside).toEqual(['a', 'b'])
  leave('b')
  expect(inside).toEqual(['a', 'b', 'c'])
  leave('b') // gives nothing back a second time
  expect(inside).toEqual(['a', 'b', 'c'])
  leave('a')
  leave('c')
  expect(inside).toEqual(['a', 'b', 'c', 'd', 'e'])
  leave('d')
  leave('e')
  enter('f')
  expect(inside.at(-1)).toBe('f')
})

it('holds nobody up for one who waits for something else', () => {
  const { inside, enter, leave } = entering(createGate(1, 50))
  for (const name of ['stuck', 'b', 'c']) enter(name)
  vi.advanceTimersByTime(49)
  expect(inside).toEqual(['stuck'])
  vi.advanceTimersByTime(1)
  expect(inside).toEqual(['stuck', 'b'])
  leave('stuck')
  expect(inside).toEqual(['stuck', 'b'])
})
