import { expect, it } from 'vitest'
import { textHash } from './text-hash.js'

it.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('the FNV-1a hash of %j is %i', (text, hash) => {
  expect(textHash(text)).toBe(hash)
})
