import { describe, expect, it } from 'vitest'
import { CappedBody } from './capped-body.js'

describe('a capped body', () => {
  it('joins chunks of any size', () => {
    const text = 'The quick brown fox jumps over the lazy dog.'
    for (const size of [1, 2, 3, 7, 44, 100]) {
      const body = new CappedBody(1_000)
      for (let at = 0; at < text.length; at += size)
        expect(body.append(Buffer.from(text.slice(at, at + size)))).toBe(true)
      expect(body.bytes().toString()).toBe(text)
    }
  })

  it('stops at its limit and reports a chunk that does not fit', () => {
    const body = new CappedBody(5)
    expect(body.append(Buffer.from('abc'))).toBe(true)
    expect(body.append(Buffer.from('de'))).toBe(true)
    expect(body.append(Buffer.alloc(0))).toBe(true)
    expect(body.append(Buffer.from('f'))).toBe(false)
    expect(body.bytes().toString()).toBe('abcde')
  })

  it('keeps its first bytes when it grows', () => {
    const body = new CappedBody(100)
    body.append(Buffer.from('abc'))
    body.append(Buffer.from('def'))
    body.append(Buffer.from('ghi'))
    expect(body.bytes().toString()).toBe('abcdefghi')
  })

  it('can have the limit 0', () => {
    const body = new CappedBody(0)
    expect(body.bytes().length).toBe(0)
    expect(body.append(Buffer.from('a'))).toBe(false)
    expect(body.bytes().length).toBe(0)
  })
})
