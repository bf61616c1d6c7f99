import { createService } from '@org/agent-messaging-core'
import { fakeCrypto, refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const url = 'https://receiver.example/hook'
const KEY = 'Bearer canary-7f3a'

async function withHeaders(
  headers: Record<string, string> | null = { Authorization: KEY, 'X-Tenant': 'Zoë' },
) {
  const fakes = await scene(echo)
  const created = await fakes.service.webhooks.create({
    projectId: fakes.project.id,
    url,
    events: ['*'],
    headers,
  })
  const { webhook } = created
  const change = (change: object) =>
    fakes.service.webhooks
      .update({ projectId: fakes.project.id, webhookId: webhook.id, change })
      .then((changed) => changed.headers?.names)
  async function deliver() {
    await fakes.send()
    await fakes.clock.advance(0)
    return {
      request: fakes.sender.requests.at(-1)?.headers,
      attempts: (await fakes.deliveries()).at(-1)?.attempts,
    }
  }
  return { ...fakes, webhook, change, deliver }
}

describe('the headers of a webhook’s own', () => {
  it("are sent with the service's headers, and stored with each attempt without their values", async () => {
    const { deliver, telemetry, webhook } = await withHeaders()
    const { request, attempts } = await deliver()
    expect(request).toMatchObject({
      Authorization: KEY,
      'X-Tenant': 'Zoë',
      'content-type': 'application/json',
    })
    expect(attempts).toEqual([
      expect.objectContaining({
        requestHeaders: { ...request, Authorization: '[redacted]', 'X-Tenant': '[redacted]' },
      }),
    ])
    expect(JSON.stringify([webhook, attempts, telemetry.facts])).not.toContain('canary')
  })

  it.each(['accepted', 'refused'] as const)(
    'are not kept of an answer that sends them back, be it %s',
    async (kind) => {
      const { deliver, sender, service, webhook } = await withHeaders()
      sender.script({
        kind,
        statusCode: kind === 'accepted' ? 200 : 500,
        responseBody: `You sent ${KEY} (canary-7f3a) for Zoë`,
      })
      const { attempts } = await deliver()
      // A short value is no secret, and stands in half of all texts.
      expect(attempts?.[0]?.outcome).toMatchObject({
        kind,
        responseBody: 'You sent [redacted] ([redacted]) for Zoë',
      })
      const ref = { projectId: webhook.projectId, webhookId: webhook.id }
      const { lastFailure } = await service.webhooks.get(ref)
      expect(lastFailure?.outcome).toEqual(kind === 'refused' ? attempts?.[0]?.outcome : undefined)
    },
  )

  it('are absent by default', async () => {
    for (const none of [null, {}]) {
      const { webhook, deliver } = await withHeaders(none)
      expect(webhook).not.toHaveProperty('headers')
      const { request, attempts } = await deliver()
      expect(attempts?.[0]?.requestHeaders).toEqual(request)
    }
  })

  it('are replaced as a whole, kept by other changes, and cleared by null', async () => {
    const { change, deliver } = await withHeaders()
    expect(await change({ description: 'd' })).toEqual(['Authorization', 'X-Tenant'])
    expect(await change({ headers: { 'X-New': '1' } })).toEqual(['X-New'])
    const { request } = await deliver()
    expect(request).toMatchObject({ 'X-New': '1' })
    expect(request).not.toHaveProperty('Authorization')
    expect(await change({ headers: null })).toBeUndefined()
    expect((await deliver()).request).not.toHaveProperty('X-New')
  })

  it('are kept for a new URL on the same origin, and need to be given again for another origin', async () => {
    const { change, deliver, sender } = await withHeaders()
    expect(await change({ url: 'https://receiver.example:443/new?a=b' })).toEqual([
      'Authorization',
      'X-Tenant',
    ])
    for (const elsewhere of [
      'https://evil.example/hook',
      'http://receiver.example/hook',
      'https://receiver.example:8443/hook',
      'queue:elsewhere',
    ]) {
      const message =
        'must be given again, or be null, where url leads to another origin: their values were meant for the old one'
      expect(await refusalOf(change({ url: elsewhere }))).toEqual({
        kind: 'invalid',
        issues: [{ path: 'headers', message }],
      })
    }
    await deliver()
    expect(sender.requests.at(-1)?.url).toBe('https://receiver.example:443/new?a=b')
    expect(await change({ url: 'https://a.example', headers: { 'X-New': '1' } })).toEqual(['X-New'])
    expect(await change({ url: 'https://b.example', headers: null })).toBeUndefined()
    expect(await change({ url: 'https://c.example' })).toBeUndefined()
    await change({ url: 'queue:a', headers: { 'X-New': '1' } })
    await refusalOf(change({ url: 'queue:b' }))
  })

  it.each([
    [
      { 'x-service-signature': 'sha256=00' },
      'headers.x-service-signature',
      'is set by the service itself',
    ],
    [{ 'Content-Type': 'text/plain' }, 'headers.Content-Type', 'is set by the service itself'],
    [
      { 'X-A': 'a\r\nb: c' },
      'headers.X-A',
      'must not contain line breaks, control characters or characters beyond Latin-1',
    ],
    [{ 'X-A': 'x'.repeat(4_097) }, 'headers.X-A', 'must have at most 4096 characters'],
    [
      Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`X-${n}`, ''])),
      'headers',
      'must be at most 20',
    ],
  ])('are refused when they cannot be sent: %j', async (headers, path, message) => {
    const { service, project, change } = await withHeaders()
    const refusal = { kind: 'invalid', issues: [{ path, message }] }
    expect(
      await refusalOf(
        service.webhooks.create({ projectId: project.id, url, events: ['*'], headers }),
      ),
    ).toEqual(refusal)
    expect(await refusalOf(change({ headers }))).toEqual(refusal)
  })

  it("never replace the service's headers, even if the operator changes the prefix later", async () => {
    const { another, clock, service, ref, sender } = await withHeaders({
      'X-Acme-Event': 'forged',
      'X-Other': 'o',
    })
    await service.stop()
    const renamed = another({ headerPrefix: 'x-acme' })
    await renamed.start()
    await renamed.messages.send({ ...ref, sessionId: 's', message: 'hi' })
    await clock.advance(0)
    expect(sender.requests.at(-1)?.headers).toMatchObject({
      'x-acme-Event': 'message.responded',
      'X-Other': 'o',
    })
    expect(JSON.stringify(sender.requests)).not.toContain('forged')
  })

  it('that cannot be decrypted fail the attempt, and nothing is sent', async () => {
    const fakes = await withHeaders()
    await fakes.service.stop()
    const crypto = fakeCrypto()
    const unseal = (...[sealed, context]: Parameters<typeof crypto.unseal>) =>
      context.endsWith('/headers') ? undefined : crypto.unseal(sealed, context)
    const other = createService({
      ...fakes,
      storage: fakes.storage.reopen(),
      crypto: { ...crypto, unseal },
    })
    await other.start()
    await other.messages.send({ ...fakes.ref, sessionId: 's', message: 'hi' })
    await fakes.clock.advance(0)
    const error = 'unsealable_secret'
    expect(await fakes.deliveries()).toMatchObject([
      { attempts: [{ outcome: { kind: 'unreachable', error } }] },
    ])
    expect((await fakes.deliveries())[0]?.attempts[0]).not.toHaveProperty('requestHeaders')
    expect(fakes.sender.requests).toEqual([])
  })

  it('are bound to their webhook', async () => {
    const { webhook, crypto } = await withHeaders()
    const sealed = webhook.headers?.sealed ?? webhook.secret
    expect(crypto.unseal(sealed, `webhooks/${webhook.id}/headers`)).toContain(KEY)
    expect(crypto.unseal(sealed, `webhooks/${webhook.id}/secret`)).toBeUndefined()
  })
})
