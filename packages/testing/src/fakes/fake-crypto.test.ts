import { describe, expect, it } from 'vitest'
import type { Sealed } from '@org/agent-messaging-core/storage'
import { isSecret, newSecret } from '@org/agent-messaging-core/runtime'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { fakeCrypto } from './fake-crypto.js'

const CRYPTOS = [
  ['fake', (key: string, others: readonly string[] = []) => fakeCrypto(key, others)],
  [
    'real',
    (key: string, others: readonly string[] = []) => nodeCrypto(bytesOf(key), others.map(bytesOf)),
  ],
] as const

function bytesOf(key: string): Uint8Array {
  return new Uint8Array(32).fill(key.length)
}

/** Both, so that the fake behaves as the real one does. */
describe.each(CRYPTOS)('the %s crypto', (_, open) => {
  it('opens what it sealed with the same key and context only', () => {
    const sealed = open('key').seal('whsec_sécret', 'webhooks/1')
    expect(sealed).not.toContain('sécret')
    expect(open('key').unseal(sealed, 'webhooks/1')).toBe('whsec_sécret')
    expect(open('key').unseal(sealed, 'webhooks/2')).toBeUndefined()
    expect(open('other key').unseal(sealed, 'webhooks/1')).toBeUndefined()
  })

  it.each(['', 'x', 'a.b.c', 'fake.00.YWJj', 'fake.00.***', 'v1.AAAA'])(
    'opens nothing that it did not seal: %j',
    (text) => {
      expect(open('key').unseal(text as Sealed, '')).toBeUndefined()
    },
  )

  it('opens and knows what another of its keys made, and seals it with its own', () => {
    const [old, both, own] = [open('old'), open('newer', ['oldest', 'old']), open('newer')]
    const sealed = old.seal('text', 'c')
    expect([both.unseal(sealed, 'c'), both.unseal(sealed, 'd'), own.unseal(sealed, 'c')]).toEqual([
      'text',
      undefined,
      undefined,
    ])
    const resealed = both.reseal(sealed, 'c') ?? sealed
    expect([own.unseal(resealed, 'c'), own.unseal(both.seal('new', 'c'), 'c')]).toEqual([
      'text',
      'new',
    ])
    expect([both.reseal(resealed, 'c'), own.reseal(resealed, 'c')]).toEqual([resealed, resealed])
    expect([
      own.reseal(sealed, 'c'),
      both.reseal(sealed, 'd'),
      both.reseal('nonsense' as Sealed, 'c'),
    ]).toEqual([undefined, undefined, undefined])
    const code = old.mac('run', 'a')
    expect([
      both.isMac('run', 'a', code),
      both.isMac('run', 'b', code),
      own.isMac('run', 'a', code),
    ]).toEqual([true, false, false])
    expect(own.isMac('run', 'a', both.mac('run', 'a'))).toBe(true)
  })

  it('makes digests of the form that is asked for, equal for equal input only', () => {
    const crypto = open('key')
    expect(crypto.sha256('a')).toMatch(/^[0-9a-f]{64}$/)
    expect(crypto.sha256('a')).toBe(crypto.sha256('a'))
    expect(crypto.sha256('a')).not.toBe(crypto.sha256('b'))
    expect(crypto.hmacSha256('é', 'a', 'hex')).toMatch(/^[0-9a-f]{64}$/)
    expect(crypto.hmacSha256('é', 'a', 'base64')).toMatch(/^[\w+/]{43}=$/)
    expect(crypto.hmacSha256('é', 'a', 'hex')).toBe(
      crypto.hmacSha256(new TextEncoder().encode('é'), 'a', 'hex'),
    )
    expect(crypto.hmacSha256('é', 'a', 'hex')).not.toBe(crypto.hmacSha256('e', 'a', 'hex'))
  })

  it('makes codes that depend on key, purpose and data', () => {
    const code = open('key').mac('run', 'a')
    expect(code).toMatch(/^[\w-]+$/)
    expect(open('key').mac('run', 'a')).toBe(code)
    const others = [
      open('other key').mac('run', 'a'),
      open('key').mac('link', 'a'),
      open('key').mac('run', 'b'),
    ]
    expect(others).not.toContain(code)
  })

  it('draws bytes that secrets are made of', () => {
    const crypto = open('key')
    const [one, other] = [newSecret(crypto.randomBytes), newSecret(crypto.randomBytes)]
    expect(isSecret(one) && isSecret(other)).toBe(true)
    expect(one).not.toBe(other)
    expect(crypto.randomBytes(5)).toHaveLength(5)
  })

  it('compares texts', () => {
    expect(open('key').equal('same', 'same')).toBe(true)
    expect(open('key').equal('same', 'other')).toBe(false)
  })
})
