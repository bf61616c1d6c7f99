import { verify } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CRON_SECRET, realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

type Receiver = Awaited<ReturnType<typeof receiver>>

/** The main use case with real sockets, a real file and a server in a separate process. */
describe('send a message, get the answer, receive the signed webhook', () => {
  let server: RealServer
  let hook: Receiver
  let secret: string

  beforeAll(async () => {
    server = await realServer({ env: { SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s' } })
    hook = await receiver((n) => (n === 0 ? 500 : 200))
    const created = await server.api('POST', '/v1/webhooks', {
      url: hook.url,
      events: ['message.responded'],
    })
    expect(created.status).toBe(201)
    secret = ((await created.json()) as { secret: string }).secret
    const agent = {
      name: 'parrot',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    }
    expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
  })
  afterAll(async () => {
    await server.dispose()
    await hook.close()
  })

  it('a send returns 200 with exactly three fields', async () => {
    const body = {
      sessionId: 's1',
      message: 'hello',
      metadata: { channel: 'C1', correlationId: 7, source: 'test' },
    }
    const sent = await server.api('POST', '/v1/agents/parrot/messages', body, {
      'idempotency-key': 'k1',
    })
    expect(sent.status).toBe(200)
    const answer = (await sent.json()) as { messageId: string }
    expect(answer).toEqual({
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      status: 'responded',
      response: 'hello',
    })

    const again = await server.api('POST', '/v1/agents/parrot/messages', body, {
      'idempotency-key': 'k1',
    })
    expect(await again.json()).toEqual(answer)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  it('a delivery is repeated after a 500 with the same id and bytes, and third parties verify it', async () => {
    expect(await until(() => hook.received.length >= 2)).toBe(true)
    const [first, second] = hook.received
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['x-service-delivery']).toBe(first?.headers['x-service-delivery'])
    for (const { body, headers } of hook.received) {
      expect(headers['x-service-event']).toBe('message.responded')
      expect(await verify(secret, body, String(headers['x-service-signature']))).toBe(true)
      expect(
        new StandardWebhook(secret).verify(body, headers as Record<string, string>),
      ).toMatchObject({
        event: 'message.responded',
        data: {
          response: 'hello',
          channel: 'C1',
          correlationId: 7,
          metadata: { source: 'test' },
          executionPrincipal: { type: 'service' },
        },
      })
    }
  })

  it('the API returns the delivery with its attempts', async () => {
    const delivered = async (): Promise<{ id: string }[]> =>
      (
        (await (await server.api('GET', '/v1/deliveries?status=delivered')).json()) as {
          data: { id: string }[]
        }
      ).data
    expect(await until(async () => (await delivered()).length === 1)).toBe(true)
    const [{ id }] = (await delivered()) as [{ id: string }]
    const detail = await (await server.api('GET', `/v1/deliveries/${id}`)).json()
    expect(detail).toMatchObject({
      status: 'delivered',
      attemptCount: 2,
      body: hook.received[0]?.body,
    })
    expect(detail).toHaveProperty('attempts.0.statusCode', 500)
    expect(detail).toHaveProperty('attempts.1.statusCode', 200)
  })

  it('the cron route accepts only its secret', async () => {
    const cron = (authorization: string) =>
      server.api('POST', '/api/cron/webhooks', undefined, { authorization })
    expect((await cron(`Bearer ${CRON_SECRET}`)).status).toBe(200)
    expect((await cron('Bearer another')).status).toBe(401)
  })
})
