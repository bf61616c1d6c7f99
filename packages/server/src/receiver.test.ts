import { signatureHeaders } from '@org/agent-messaging-core/runtime'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { afterEach, describe, expect, it } from 'vitest'
import { openReceiver, type ReceiverOptions } from './receiver.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const BODY = JSON.stringify({ event: 'message.responded', data: { response: 'grüße' } })

const closers: (() => Promise<void>)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

async function receive(
  options: Omit<ReceiverOptions, 'port' | 'onDelivery'>,
  headers: Record<string, string>,
  body = BODY,
): Promise<{ status: number; printed: string; isValid: boolean }> {
  let printed = ''
  let isValid = false
  const { url, close } = await openReceiver({
    ...options,
    port: 0,
    onDelivery: (received) => {
      printed += received.text
      isValid = received.isValid
    },
  })
  closers.push(() => close(0))
  const { status } = await fetch(`${url}/hook`, { method: 'POST', headers, body })
  return { status, printed, isValid }
}

const { hmacSha256 } = nodeCrypto(Buffer.alloc(32))
const signed = (
  secret: string,
  headerPrefix = 'X-Service',
  nextSecret?: string,
): Record<string, string> =>
  signatureHeaders(hmacSha256, {
    id: 'the-delivery',
    event: 'message.responded',
    body: BODY,
    secret,
    at: Date.now(),
    headerPrefix,
    ...(nextSecret !== undefined && { nextSecret }),
  })

describe('the receiver', () => {
  it('prints the event, the delivery, the signature check and the body, and returns 200', async () => {
    const { status, printed, isValid } = await receive({ secret: SECRET }, signed(SECRET))
    expect([status, isValid]).toEqual([200, true])
    expect(printed).toMatch(
      /^\d\d:\d\d:\d\d {2}message\.responded {2}delivery the-delivery {2}signature valid\n/,
    )
    expect(printed).toContain('"response": "grüße"')
  })

  it('finds the headers under any prefix', async () => {
    const { printed } = await receive({ secret: SECRET }, signed(SECRET, 'X-Acme-Hooks'))
    expect(printed).toContain('message.responded  delivery the-delivery  signature valid')
  })

  it('reports a wrong secret', async () => {
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    const { printed, isValid } = await receive({ secret: SECRET }, signed(other))
    expect([isValid, printed]).toEqual([false, expect.stringContaining('SIGNATURE INVALID')])
  })

  it('reports a changed body', async () => {
    expect((await receive({ secret: SECRET }, signed(SECRET), `${BODY} `)).printed).toContain(
      'SIGNATURE INVALID',
    )
  })

  it.each(['X-Service-Signature', 'webhook-signature', 'webhook-timestamp'])(
    'reports a wrong %s',
    async (name) => {
      expect(
        (await receive({ secret: SECRET }, { ...signed(SECRET), [name]: 'sha256=0' })).printed,
      ).toContain('SIGNATURE INVALID')
    },
  )

  it('accepts only the old and the new secret during a rotation', async () => {
    const [next, third] = [8, 9].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`)
    const rotating = signed(SECRET, 'X-Service', next)
    expect(rotating['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    expect((await receive({ secret: SECRET }, rotating)).printed).toContain('signature valid')
    expect((await receive({ secret: next }, rotating)).printed).toContain('signature valid')
    expect((await receive({ secret: third }, rotating)).printed).toContain('SIGNATURE INVALID')
  })

  it('prints unsigned requests, bodies that are not JSON, and unchecked signatures', async () => {
    const { printed, isValid } = await receive({}, signed(SECRET))
    expect(printed).toContain('signature not checked (no secret was given)')
    expect(isValid).toBe(false)
    expect((await receive({ secret: SECRET }, {}, 'plain text')).printed).toMatch(
      /\(none\) {2}delivery \(none\) {2}NOT SIGNED\nplain text\n/,
    )
  })

  it('replaces control characters', async () => {
    const { printed } = await receive(
      {},
      { ...signed(SECRET), 'X-Service-Event': '\u009B2J' },
      'a\u001B]52;c;cm0gLXJm\u0007\n\tb\u009B2J',
    )
    expect(printed).toContain('\na ]52;c;cm0gLXJm \n\tb 2J\n')
    // oxlint-disable-next-line no-control-regex -- the test searches for control characters
    expect(printed).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/)
  })

  it('names a port in use, and the option for another one', async () => {
    const options = { onDelivery: () => undefined }
    const first = await openReceiver({ ...options, port: 0 })
    closers.push(() => first.close(0))
    const port = Number(new URL(first.url).port)
    await expect(openReceiver({ ...options, port })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is in use; choose another with --port`,
    )
  })

  it('rejects a body of more than 8 MiB', async () => {
    const { status, printed } = await receive(
      { secret: SECRET },
      signed(SECRET),
      'x'.repeat(8 * 1024 * 1024 + 1),
    )
    expect(status).toBe(413)
    expect(printed).toMatch(/delivery the-delivery {2}REJECTED: the body exceeds 8 MiB\n$/)
    expect((await receive({}, signed(SECRET), 'x'.repeat(8 * 1024 * 1024))).status).toBe(200)
  })

  it('returns the given status', async () => {
    expect((await receive({ status: 503 }, signed(SECRET))).status).toBe(503)
  })
})
