import { describe, expect, it } from 'vitest'
import { nodeCrypto, nodePlatform, systemClock } from './index.js'

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)

describe('sealing', () => {
  const crypto = nodeCrypto(key(1))

  it('gives back the text, under the same key and context alone', () => {
    const sealed = crypto.seal('geheim 😀', 'row 1')
    expect(sealed).not.toContain('geheim')
    expect(crypto.unseal(sealed, 'row 1')).toBe('geheim 😀')
    expect(crypto.unseal(sealed, 'row 2')).toBeUndefined()
    expect(nodeCrypto(key(2)).unseal(sealed, 'row 1')).toBeUndefined()
  })
  it('never gives the same text twice for the same plain text', () => {
    expect(crypto.seal('x', 'c')).not.toBe(crypto.seal('x', 'c'))
  })
  it.each(['', 'v1.', 'v1.AAAA', 'v2.AAAA', 'nonsense'])('refuses %j', (text) =>
    expect(crypto.unseal(text as never, 'c')).toBeUndefined(),
  )
  it('refuses what was altered, the length of its tag included', () => {
    const sealed = crypto.seal('x', 'c')
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const altered = Buffer.from(bytes)
      altered.writeUInt8(bytes.readUInt8(at) ^ 1, at)
      expect(crypto.unseal(`v1.${altered.toString('base64url')}` as never, 'c')).toBeUndefined()
    }
    expect(
      crypto.unseal(`v1.${bytes.subarray(0, 16).toString('base64url')}` as never, 'c'),
    ).toBeUndefined()
  })
  it('takes a master key of 32 bytes and no other', () => {
    expect(() => nodeCrypto(new Uint8Array(31))).toThrow('the master key has 31 bytes; it takes 32')
  })
})

describe('codes and comparisons', () => {
  const crypto = nodeCrypto(key(1))

  it('agree with the published vectors', () => {
    expect(crypto.sha256('abc')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    const rfc4231 = crypto.hmacSha256(new Uint8Array(20).fill(0x0b), 'Hi There', 'hex')
    expect(rfc4231).toBe('b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7')
  })
  it('differ by purpose and by key', () => {
    const codes = [
      crypto.mac('a', 'x'),
      crypto.mac('b', 'x'),
      crypto.mac('a', 'y'),
      nodeCrypto(key(2)).mac('a', 'x'),
    ]
    expect(new Set(codes).size).toBe(4)
  })
  it('compare texts of different lengths without throwing', () => {
    expect(crypto.equal('a', 'a')).toBe(true)
    expect(crypto.equal('a', 'ab')).toBe(false)
  })
})

describe('the clock', () => {
  it('sleeps until its time has come, or until it is woken', async () => {
    await systemClock.sleep(1)
    const alarm = new AbortController()
    // Longer than a timer of Node can be: the sleep must not end at once.
    const long = systemClock.sleep(2 ** 40, alarm.signal)
    const first = await Promise.race([
      long.then(() => 'long'),
      systemClock.sleep(20).then(() => 'short'),
    ])
    expect(first).toBe('short')
    alarm.abort()
    await long
    await systemClock.sleep(2 ** 40, alarm.signal)
  })

  it('sleeps without a warning, many until one signal, and for less than no time', async () => {
    const warnings: Error[] = []
    const warned = (warning: Error): number => warnings.push(warning)
    process.on('warning', warned)
    const stop = new AbortController()
    const sleeps = Array.from({ length: 20 }, () => systemClock.sleep(60_000, stop.signal))
    stop.abort()
    await Promise.all(sleeps)
    await systemClock.sleep(-1)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', warned)
    expect(warnings).toEqual([])
  })
})

it('makes ids that grow, even within a millisecond', () => {
  const { ids, random, clock } = nodePlatform({ masterKey: key(1) })
  const made = Array.from({ length: 10_000 }, () => ids.next())
  expect([...made].sort()).toEqual(made)
  expect(made[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(random.next()).toBeLessThan(1)
  expect(clock.now()).toBeGreaterThan(Date.UTC(2026, 0, 1))
})
