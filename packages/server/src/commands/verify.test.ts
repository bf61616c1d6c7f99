import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { describe, expect, it } from 'vitest'
import { signatureReport, type SignedRequest } from './verify.js'

const NOW = Date.UTC(2030, 0, 1)
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const event = {
  event: 'webhook.test',
  id: 'e-1',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { webhookId: 'Zoë' },
} as const
const { body, headers } = await signTestEvent(event, secret, { deliveryId: 'd-1', now: NOW })
const valid: SignedRequest = {
  body: Buffer.from(body),
  secret,
  toleranceSeconds: 300,
  now: NOW,
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  ),
}
const reasonFor = async (change: Partial<SignedRequest>): Promise<string> => {
  const report = await signatureReport({ ...valid, ...change })
  return report.isGood ? 'good' : report.reason
}
const withHeader = (name: string, value: string) => ({
  headers: { ...valid.headers, [name]: value },
})

describe('the signature report', () => {
  it('contains the delivery of a valid request', async () => {
    expect(await signatureReport(valid)).toEqual({
      isGood: true,
      deliveryId: 'd-1',
      event: 'webhook.test',
      signedAt: '2030-01-01T00:00:00.000Z',
    })
  })

  it.each<[string, Partial<SignedRequest>, RegExp]>([
    [
      'an old request',
      { now: NOW + 400_000 },
      /^the request was signed 400 s ago, more than 300 s/,
    ],
    [
      'a request from the future',
      { now: NOW - 400_000 },
      /^the request was signed 400 s in the future/,
    ],
    [
      'an invalid timestamp',
      withHeader('webhook-timestamp', 'soon'),
      /^webhook-timestamp must be seconds since 1970; got "soon"/,
    ],
    [
      'missing headers',
      { headers: {} },
      /^the headers lack webhook-id and webhook-timestamp and webhook-signature/,
    ],
    [
      'another delivery id',
      withHeader('webhook-id', 'd-2'),
      /^the body and the secret are correct/,
    ],
    [
      'a line break at the end',
      { body: Buffer.from(`${body}\n`) },
      /the body was changed: a line break was added/,
    ],
    ['white space around the body', { body: Buffer.from(` ${body} `) }, /: white space was added/],
    [
      'a byte order mark',
      { body: Buffer.from(`\uFEFF${body}`) },
      /: (a byte order mark|white space) was added/,
    ],
    [
      'a body that was serialized again',
      { body: Buffer.from(JSON.stringify(event, null, 2)) },
      /: a parser and serializer changed it/,
    ],
    [
      'another secret',
      { secret: `whsec_${Buffer.alloc(32, 8).toString('base64')}` },
      /^No signature matches the body and the secret/,
    ],
    ['another body', { body: Buffer.from('{}') }, /^No signature matches the body and the secret/],
    ['a body that is not JSON', { body: Buffer.from('{') }, /^No signature matches/],
    ['an invalid secret', { secret: 'hunter2' }, /^The webhook secret must be whsec_/],
  ])('explains %s', async (_, change, reason) => {
    expect(await reasonFor(change)).toMatch(reason)
  })
})
