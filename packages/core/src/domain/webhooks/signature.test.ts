import { verify } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { nodeCrypto } from '../../node/index.js'
import { isSecret, newSecret, signatureHeaders } from './signature.js'

const crypto = nodeCrypto(new Uint8Array(32).fill(7))
const secret = newSecret(crypto.randomBytes)
const body = '{"event":"message.responded","data":{"response":"grüße 😀"}}'
// The Standard Webhooks verifier reads the real clock.
const now = Math.floor(Date.now() / 1000) * 1000
const headers = signatureHeaders(crypto.hmacSha256, {
  ...{ id: 'dlv-1', event: 'message.responded', body, secret, at: now, headerPrefix: 'X-Service' },
})

describe('a signed request', () => {
  it('carries the three headers with the prefix, as third parties verify them', async () => {
    expect(headers['X-Service-Delivery']).toBe('dlv-1')
    expect(headers['X-Service-Event']).toBe('message.responded')
    expect(headers['X-Service-Signature']).toMatch(/^sha256=[0-9a-f]{64}$/)
    expect(await verify(secret, body, headers['X-Service-Signature'] ?? '')).toBe(true)
    expect(await verify(secret, `${body} `, headers['X-Service-Signature'] ?? '')).toBe(false)
  })
  it('carries the Standard Webhooks headers beside them', () => {
    expect(new StandardWebhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => new StandardWebhook(newSecret(crypto.randomBytes)).verify(body, headers)).toThrow()
  })
  it('carries both signatures during a rotation, and the old one in the header with the prefix', async () => {
    const nextSecret = newSecret(crypto.randomBytes)
    const rotating = {
      id: 'dlv-1',
      event: 'e',
      body,
      secret,
      nextSecret,
      at: now,
      headerPrefix: 'X-Service',
    }
    const both = signatureHeaders(crypto.hmacSha256, rotating)
    expect(both['X-Service-Signature']).toBe(headers['X-Service-Signature'])
    for (const known of [secret, nextSecret])
      expect(new StandardWebhook(known).verify(body, both)).toEqual(JSON.parse(body))
    expect(await verify(secret, body, both['X-Service-Signature'] ?? '')).toBe(true)
  })
  it('names the second that has begun, so that no clock of a receiver is ahead of it', () => {
    const late = signatureHeaders(crypto.hmacSha256, {
      id: 'i',
      event: 'e',
      body,
      secret,
      at: now + 999,
      headerPrefix: 'X-Service',
    })
    expect(late['webhook-timestamp']).toBe(String(now / 1000))
  })
  it('names its headers as the operator likes', () => {
    const named = signatureHeaders(crypto.hmacSha256, {
      id: 'i',
      event: 'e',
      body,
      secret,
      at: now,
      headerPrefix: 'X-Acme',
    })
    expect(Object.keys(named).slice(0, 3)).toEqual([
      'X-Acme-Delivery',
      'X-Acme-Event',
      'X-Acme-Signature',
    ])
  })
})

describe('a secret', () => {
  const ofBytes = (length: number) => `whsec_${Buffer.alloc(length, 1).toString('base64')}`

  it('is made in the form that it is checked for', () => expect(isSecret(secret)).toBe(true))
  it('has 24 to 64 bytes', () => {
    expect([23, 24, 64, 65].map((length) => isSecret(ofBytes(length)))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })
  it.each([
    '',
    'whsec_',
    'secret',
    `${ofBytes(32)}!`,
    ofBytes(32).replace('=', ''),
    ofBytes(32).slice('whsec_'.length),
  ])('is never %j', (text) => expect(isSecret(text)).toBe(false))
})
