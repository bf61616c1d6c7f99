import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ShortLivedMap } from './short-lived-map.js'

const command = fc.tuple(fc.constantFrom('set', 'delete'), fc.integer({ min: 0, max: 5 }))

it('behaves like a Map, also in its order', () => {
  fc.assert(
    fc.property(fc.array(command), (commands) => {
      const map = new ShortLivedMap<number, { readonly at: number }>()
      const model = new Map<number, { readonly at: number }>()
      for (const [at, [action, key]] of commands.entries()) {
        if (action === 'delete') expect(map.delete(key)).toBe(model.delete(key))
        else for (const one of [map, model]) one.set(key, { at })
        expect(map.size).toBe(model.size)
        expect([...map.keys()]).toEqual([...model.keys()])
        expect([...map.values()]).toEqual([...model.values()])
        expect(map.get(key)).toEqual(model.get(key))
      }
    }),
  )
})

it('visits a value once while values are deleted', () => {
  const map = new ShortLivedMap<string, string>()
  for (const key of ['a', 'b', 'c']) map.set(key, key)
  const visited: string[] = []
  for (const value of map.values()) {
    visited.push(value)
    map.delete(value)
  }
  expect(visited).toEqual(['a', 'b', 'c'])
  expect(map.size).toBe(0)
})
