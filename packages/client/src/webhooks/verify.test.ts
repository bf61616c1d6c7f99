import { createHmac, randomBytes } from 'node:crypto'
import { verify as verifyLikeGitHub } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { WebhookEvent } from './events.js'
import { type HeadersLike, signTestEvent, verify } from './verify.js'

const NOW = Date.UTC(2030, 0, 1)
const now = () => NOW
const aSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const secret = aSecret()
const event: WebhookEvent<'webhook.test'> = {
  event: 'webhook.test',
  id: 'e-1',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { webhookId: 'Zoë 🎈' },
}
const signed = (of = secret, at = NOW) => signTestEvent(event, of, { deliveryId: 'd-1', now: at })
const codeOf = (verifying: Promise<unknown>) =>
  verifying.then(
    () => 'verified',
    (error: { code?: string }) => error.code,
  )

describe('a signed request', () => {
  it('yields its event, its delivery id and its signing time', async () => {
    const { body, headers } = await signed()
    expect(await verify(body, headers, secret, { now })).toEqual({
      deliveryId: 'd-1',
      signedAt: NOW,
      event,
    })
  })
  it('is valid in every format that frameworks pass', async () => {
    const { body, headers } = await signed()
    const bytes = new TextEncoder().encode(body)
    const listed = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    )
    for (const form of [body, bytes, bytes.buffer, Buffer.from(body)]) {
      for (const given of [headers, new Headers(headers), listed] satisfies HeadersLike[]) {
        expect(await codeOf(verify(form, given, secret, { now }))).toBe('verified')
      }
    }
  })
  it('is valid with either secret during a rotation', async () => {
    const { body, headers } = await signed()
    expect(await codeOf(verify(body, headers, [aSecret(), secret], { now }))).toBe('verified')
    const both = {
      ...headers,
      'webhook-signature': `v1,${randomBytes(32).toString('base64')} ${headers['webhook-signature']}`,
    }
    expect(await codeOf(verify(body, both, secret, { now }))).toBe('verified')
  })
  it('is valid for third-party verifiers of both schemes', async () => {
    const { body, headers } = await signed(secret, Date.now())
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow()
    expect(await verifyLikeGitHub(secret, body, headers['X-Service-Signature'] ?? '')).toBe(true)
  })
})

describe('an invalid request', () => {
  it('can have another body, id, time or secret', async () => {
    const { body, headers } = await signed()
    const refused = [
      verify(`${body} `, headers, secret, { now }),
      verify(Buffer.from(`\uFEFF${body}`), headers, secret, { now }),
      verify(body, { ...headers, 'webhook-id': 'd-2' }, secret, { now }),
      verify(body, { ...headers, 'webhook-timestamp': String(NOW / 1000 + 1) }, secret, { now }),
      verify(body, headers, aSecret(), { now }),
      verify(
        body,
        { ...headers, 'webhook-signature': headers['webhook-signature']?.replace('v1,', 'v0,') },
        secret,
        { now },
      ),
      verify(body, { ...headers, 'webhook-signature': 'v1,***' }, secret, { now }),
    ]
    const codes = await Promise.all(refused.map(codeOf))
    expect(codes).toEqual(refused.map(() => 'SIGNATURE_MISMATCH'))
  })
  it('can be signed with the text of the secret instead of its bytes', async () => {
    const { body, headers } = await signed()
    const forged = createHmac('sha256', secret)
      .update(`d-1.${NOW / 1000}.${body}`)
      .digest('base64')
    expect(
      await codeOf(
        verify(body, { ...headers, 'webhook-signature': `v1,${forged}` }, secret, { now }),
      ),
    ).toBe('SIGNATURE_MISMATCH')
  })
  it('can have a shortened or extended signature', async () => {
    const { body, headers } = await signed()
    const right = Buffer.from(headers['webhook-signature']?.slice(3) ?? '', 'base64')
    for (const wrong of [
      right.subarray(0, 31),
      Buffer.concat([right, Buffer.alloc(1)]),
      Buffer.alloc(0),
      Buffer.alloc(32),
    ]) {
      const changed = { ...headers, 'webhook-signature': `v1,${wrong.toString('base64')}` }
      expect(await codeOf(verify(body, changed, secret, { now }))).toBe('SIGNATURE_MISMATCH')
    }
  })
  it('is not expensive when it has thousands of signatures', async () => {
    const { headers } = await signed()
    const many = { ...headers, 'webhook-signature': 'v1,AAAA '.repeat(2_000) }
    const sign = vi.spyOn(crypto.subtle, 'sign')
    const check = vi.spyOn(crypto.subtle, 'verify')
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await codeOf(verify('x'.repeat(1_000), many, [secret, aSecret()], { now }))).toBe(
      'SIGNATURE_MISMATCH',
    )
    expect(sign.mock.calls.length + check.mock.calls.length).toBe(2)
  })
  it.each([301, -301])('can be signed %i seconds ago', async (seconds) => {
    const { body, headers } = await signed(secret, NOW - seconds * 1000)
    expect(await codeOf(verify(body, headers, secret, { now }))).toBe('TIMESTAMP_TOO_FAR')
    expect(await codeOf(verify(body, headers, secret, { now, toleranceSeconds: 600 }))).toBe(
      'verified',
    )
  })
  it('can have a malformed time', async () => {
    const { body, headers } = await signed()
    expect(
      await codeOf(verify(body, { ...headers, 'webhook-timestamp': 'soon' }, secret, { now })),
    ).toBe('TIMESTAMP_TOO_FAR')
  })
  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('can lack %s', async (name) => {
    const { body, headers } = await signed()
    expect(await codeOf(verify(body, { ...headers, [name]: undefined }, secret, { now }))).toBe(
      'HEADERS_MISSING',
    )
  })
  it('is explained when its body was parsed before', async () => {
    const { headers } = await signed()
    for (const parsed of [event, '[object Object]', undefined]) {
      await expect(
        verify(parsed as unknown as string, headers, secret, { now }),
      ).rejects.toMatchObject({
        code: 'BODY_ALREADY_PARSED',
        message: expect.stringContaining('express.raw'),
      })
    }
  })
  it('has its own code for a malformed secret', async () => {
    const { body, headers } = await signed()
    for (const wrong of ['hunter2', 'whsec_***', 'whsec_']) {
      expect(await codeOf(verify(body, headers, wrong, { now }))).toBe('SECRET_INVALID')
    }
  })
  it('has its own code for a missing secret', async () => {
    const { body, headers } = await signed()
    for (const none of [undefined, '', [], [secret, '']])
      expect(await codeOf(verify(body, headers, none, { now }))).toBe('SECRET_MISSING')
  })
  it('can contain no event', async () => {
    for (const body of ['not json', '[]', '{"event":1,"data":{}}', 'null']) {
      const signature = new Webhook(secret).sign('d-1', new Date(NOW), body)
      const headers = {
        'webhook-id': 'd-1',
        'webhook-timestamp': String(NOW / 1000),
        'webhook-signature': signature,
      }
      expect(await codeOf(verify(body, headers, secret, { now }))).toBe('BODY_NOT_AN_EVENT')
    }
  })
})
