import { expect, it } from 'vitest'
import { Recent } from './recent.js'

it('keeps the newest entries', () => {
  const recent = new Recent<number>(2)
  recent.set('a', 1)
  recent.set('b', 2)
  recent.set('a', 3)
  recent.set('c', 4)
  expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([3, undefined, 4])
  recent.delete('a')
  expect(recent.get('a')).toBeUndefined()
})
