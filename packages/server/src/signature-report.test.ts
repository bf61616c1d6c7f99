import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { describe, expect, it } from 'vitest'
import { signatureReport, type SignedRequest } from './signature-report.js'

const NOW = Date.UTC(2030, 0, 1)
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const event = {
  event: 'webhook.test',
  id: 'e-1',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { webhookId: 'Zoë' },
} as const
const { body, headers } = await signTestEvent(event, secret, { deliveryId: 'd-1', now: NOW })
const genuine: SignedRequest = {
  ...{ body: Buffer.from(body), secret, toleranceSeconds: 300, now: NOW },
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  ),
}
const reasonFor = async (change: Partial<SignedRequest>): Promise<string> => {
  const report = await signatureReport({ ...genuine, ...change })
  return report.isGood ? 'good' : report.reason
}
const withHeader = (name: string, value: string) => ({
  headers: { ...genuine.headers, [name]: value },
})

describe('the report on a signature', () => {
  it('tells what a genuine request is', async () => {
    expect(await signatureReport(genuine)).toEqual({
      ...{
        isGood: true,
        deliveryId: 'd-1',
        event: 'webhook.test',
        signedAt: '2030-01-01T00:00:00.000Z',
      },
    })
  })

  it.each<[string, Partial<SignedRequest>, RegExp]>([
    ['an old request', { now: NOW + 400_000 }, /^it was signed 400 s ago, more than 300 s/],
    ['one of the future', { now: NOW - 400_000 }, /^it was signed 400 s in the future/],
    [
      'a time that is none',
      withHeader('webhook-timestamp', 'soon'),
      /^webhook-timestamp is "soon"/,
    ],
    [
      'missing headers',
      { headers: {} },
      /^there is no webhook-id and no webhook-timestamp and no webhook-signature/,
    ],
    ['another delivery id', withHeader('webhook-id', 'd-2'), /^body and secret are right/],
    [
      'a line break at the end',
      { body: Buffer.from(`${body}\n`) },
      /the body was changed .*: it ends in a line break/,
    ],
    ['white space around it', { body: Buffer.from(` ${body} `) }, /: white space around it/],
    [
      'a byte order mark',
      { body: Buffer.from(`\uFEFF${body}`) },
      /: (it begins with a byte order mark|white space around)/,
    ],
    [
      'a body that was written anew',
      { body: Buffer.from(JSON.stringify(event, null, 2)) },
      /: it was parsed and written anew/,
    ],
    [
      'another secret',
      { secret: `whsec_${Buffer.alloc(32, 8).toString('base64')}` },
      /^No signature fits the body and the secret/,
    ],
    ['another body', { body: Buffer.from('{}') }, /^No signature fits the body and the secret/],
    ['a body that is no text of JSON', { body: Buffer.from('{') }, /^No signature fits/],
    ['a secret that is none', { secret: 'hunter2' }, /^A secret is whsec_/],
  ])('tells %s', async (_, change, reason) => {
    expect(await reasonFor(change)).toMatch(reason)
  })
})
