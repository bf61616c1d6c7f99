import { defaultWebhookHealthPolicy } from '@org/agent-messaging-core/host'
import { refused } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const EARLIER = 1
const IN_FLIGHT = 8

/**
 * A webhook with the most requests under way that the limit allows, and two more deliveries
 * that wait for their turn in this process.
 */
async function withWaiting() {
  // An open circuit would also end the deliveries that only the change must end.
  const fakes = await scene({
    ...echo,
    policy: { webhookHealth: { ...defaultWebhookHealthPolicy, openFailures: 100 } },
  })
  const { webhook, secret } = await fakes.hook()
  // The webhook is known to be well, so that no success checks its health again.
  await fakes.send('before')
  await fakes.clock.until(() => fakes.sender.requests.length === EARLIER)
  await fakes.clock.advance(0)
  fakes.sender.hold()
  for (let n = 0; n < IN_FLIGHT + 2; n++) await fakes.send('hi', { sessionId: `s${n}` })
  await fakes.clock.until(() => fakes.sender.held === IN_FLIGHT)
  /** The requests that begin from now on. */
  async function rest() {
    fakes.sender.release()
    await fakes.clock.advance(0)
    return fakes.sender.requests.slice(EARLIER + IN_FLIGHT)
  }
  return {
    ...fakes,
    secret,
    webhook,
    which: { projectId: fakes.project.id, webhookId: webhook.id },
    rest,
  }
}

describe('a change of a webhook applies to the next request, also for deliveries that already wait in this process', () => {
  it('after a rotation without grace, the old secret signs no request', async () => {
    const { service, which, rest, crypto } = await withWaiting()
    const { secret } = await service.webhooks.rotateSecret({ ...which, graceMs: 1_000 })
    await service.webhooks.finishRotation(which)
    const signatures = (await rest()).map(({ headers, body }) => [
      headers['X-Service-Signature'],
      crypto.hmacSha256(secret, body, 'hex'),
    ])
    expect(signatures).toHaveLength(2)
    for (const [signature, expected] of signatures) expect(signature).toBe(`sha256=${expected}`)
  })

  it('during a rotation, both secrets sign', async () => {
    const { service, which, rest } = await withWaiting()
    await service.webhooks.rotateSecret(which)
    expect(
      (await rest()).map(({ headers }) => headers['webhook-signature']?.split(' ').length),
    ).toEqual([2, 2])
  })

  it('a new URL and new headers are used', async () => {
    const { service, which, rest } = await withWaiting()
    const url = 'https://moved.example/'
    await service.webhooks.update({ ...which, change: { url, headers: { 'X-New': 'n' } } })
    const request = { url, headers: expect.objectContaining({ 'X-New': 'n' }) as unknown }
    expect(await rest()).toEqual([
      expect.objectContaining(request),
      expect.objectContaining(request),
    ])
  })

  it('a disabled webhook is sent nothing until it is enabled', async () => {
    const { service, which, rest, clock, sender } = await withWaiting()
    await service.webhooks.update({ ...which, change: { enabled: false } })
    expect(await rest()).toEqual([])
    await service.webhooks.update({ ...which, change: { enabled: true } })
    await clock.advance(0)
    expect(sender.requests).toHaveLength(EARLIER + IN_FLIGHT + 2)
  })

  it('a paused webhook is sent nothing until it is resumed', async () => {
    const { service, which, rest, clock, sender } = await withWaiting()
    await service.webhooks.update({ ...which, change: { paused: true } })
    expect(await rest()).toEqual([])
    await service.webhooks.update({ ...which, change: { paused: false } })
    await clock.advance(0)
    expect(sender.requests).toHaveLength(EARLIER + IN_FLIGHT + 2)
  })

  it('a new timeout is the deadline of the next request', async () => {
    const { service, which, rest } = await withWaiting()
    await service.webhooks.update({ ...which, change: { timeoutMs: 1_234 } })
    const deadlines = (await rest()).map(({ deadlineMs }) => deadlineMs)
    expect(deadlines).toEqual([1_234, 1_234])
  })

  it('a webhook that is disabled by a 410 is sent nothing more', async () => {
    const { service, which, clock, sender } = await withWaiting()
    await service.webhooks.update({ ...which, change: { disableOnGone: true } })
    sender.release(refused(410))
    await clock.advance(0)
    expect((await service.webhooks.get(which)).status).toMatchObject({
      reason: 'gone',
    })
    expect(sender.requests).toHaveLength(EARLIER + IN_FLIGHT)
  })

  it('a deleted webhook is sent nothing more', async () => {
    const { service, which, rest } = await withWaiting()
    await service.webhooks.delete(which)
    expect(await rest()).toEqual([])
  })
})

it('a delivery that is cancelled while it waits in this process is not sent, and other deliveries are', async () => {
  const { service, project, deliveries, rest } = await withWaiting()
  const [first, second] = (await deliveries())
    .slice(EARLIER + IN_FLIGHT)
    .map(({ delivery }) => delivery.id)
  const cancelled = await service.deliveries.cancel({
    projectId: project.id,
    deliveryId: first ?? '',
  })
  expect(cancelled.state).toMatchObject({ kind: 'cancelled', reason: 'operator' })
  expect((await rest()).map(({ headers }) => headers['X-Service-Delivery'])).toEqual([second])
})
