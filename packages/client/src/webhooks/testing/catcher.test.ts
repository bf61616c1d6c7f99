import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { WebhookEvent } from '../events.js'
import { signTestEvent } from '../verify.js'
import { createWebhookCatcher, type WebhookCatcher } from './index.js'

let catcher: WebhookCatcher
beforeEach(async () => {
  catcher = await createWebhookCatcher()
})
afterEach(() => catcher.close())

const test: WebhookEvent<'webhook.test'> = {
  event: 'webhook.test',
  id: 'e-1',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { webhookId: 'w' },
}
const started: WebhookEvent<'agent.started'> = {
  event: 'agent.started',
  id: 'e-2',
  createdAt: '2030-01-01T00:00:00.000Z',
  data: { agentId: 'a', runtime: 'function', startedAt: '2030-01-01T00:00:00.000Z' },
}

async function post(
  event: WebhookEvent,
  deliveryId = 'd-1',
  secret = catcher.secret,
): Promise<Response> {
  const { body, headers } = await signTestEvent(event, secret, { deliveryId })
  return fetch(catcher.url, { method: 'POST', body, headers })
}

describe('the webhook catcher', () => {
  it.each(['', 'whsec_', 'whsec_***'])('does not start with the secret %j', async (secret) => {
    await expect(createWebhookCatcher({ secret })).rejects.toThrow(
      'The webhook secret must be whsec_',
    )
  })

  it('returns each request once, in order', async () => {
    await post(test, 'd-1')
    await post(started, 'd-2')
    await post(test, 'd-3')
    expect((await catcher.next('agent.started')).event.data.runtime).toBe('function')
    expect(await catcher.next()).toMatchObject({
      deliveryId: 'd-1',
      event: test,
      status: 200,
      body: JSON.stringify(test),
    })
    expect((await catcher.next('webhook.test')).deliveryId).toBe('d-3')
    expect(catcher.received.map(({ deliveryId }) => deliveryId)).toEqual(['d-1', 'd-2', 'd-3'])
  })

  it('waits for later events in any order', async () => {
    const asked = [
      catcher.next('agent.started'),
      catcher.next('webhook.test'),
      catcher.next('webhook.test'),
    ]
    await post(test, 'd-1')
    await post(test, 'd-2')
    await post(started, 'd-3')
    expect((await Promise.all(asked)).map(({ deliveryId }) => deliveryId)).toEqual([
      'd-3',
      'd-1',
      'd-2',
    ])
  })

  it('names the received events at its timeout', async () => {
    await expect(catcher.next('webhook.test', { timeoutMs: 10 })).rejects.toThrow(
      'no webhook.test arrived within 10 ms, but nothing else',
    )
    await post(started)
    await post(test, 'd-2', `whsec_${Buffer.alloc(32).toString('base64')}`)
    const message =
      'no webhook.test arrived within 10 ms, but ' +
      'agent.started, an invalid request (SIGNATURE_MISMATCH)'
    await expect(catcher.next('webhook.test', { timeoutMs: 10 })).rejects.toThrow(message)
    await post(test)
    expect((await catcher.next('webhook.test')).event).toEqual(test)
  })

  it('rejects an invalid request and keeps the reason', async () => {
    const answer = await fetch(catcher.url, { method: 'POST', body: '{}' })
    expect([answer.status, catcher.received]).toEqual([401, []])
    expect(catcher.refused).toEqual([
      expect.objectContaining({
        body: '{}',
        error: expect.objectContaining({ code: 'HEADERS_MISSING' }),
      }),
    ])
  })

  it('uses the responses for the next requests and the default for others', async () => {
    await catcher.close()
    catcher = await createWebhookCatcher({ answer: { status: 204 } })
    catcher.answerNext(
      { status: 500 },
      { status: 503, headers: { 'retry-after': '7' } },
      { status: 200, delayMs: 1 },
    )
    const answers = [await post(test), await post(test), await post(test), await post(test)]
    expect(answers.map(({ status }) => status)).toEqual([500, 503, 200, 204])
    expect(answers[1]?.headers.get('retry-after')).toBe('7')
    expect(catcher.received.map(({ status }) => status)).toEqual([500, 503, 200, 204])
  })

  it('closes immediately during a response, and can close twice', async () => {
    catcher.answerNext({ delayMs: 3_600_000 })
    const broken = post(test).catch((error: unknown) => error)
    await catcher.next()
    await catcher.close()
    expect(await broken).toBeInstanceOf(TypeError)
    await expect(catcher.close()).resolves.toBeUndefined()
  })
})
