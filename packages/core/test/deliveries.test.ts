import { describe, expect, it } from 'vitest'
import { refused, refusalOf } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const policy = { retry: { delaysMs: [60_000, 600_000], jitter: 0, maxRetryAfterMs: 86_400_000 } }

/** A delivery whose first attempt failed. The next attempt is due in a minute. */
async function failedOnce() {
  const fakes = await scene({ ...echo, policy })
  const { webhook } = await fakes.hook()
  fakes.sender.script(refused(500))
  await fakes.send()
  await fakes.clock.advance(0)
  const [{ delivery } = {} as never] = await fakes.deliveries()
  const state = async () => (await fakes.deliveries())[0]?.delivery.state
  return {
    ...fakes,
    webhook,
    state,
    ref: { projectId: fakes.project.id, deliveryId: delivery.id },
    agentRef: fakes.ref,
  }
}

describe('redelivering', () => {
  it('sends an open delivery once more now, and a failure leaves its schedule as it was', async () => {
    const { service, ref, sender, clock, state } = await failedOnce()
    const before = await state()
    sender.script(refused(500))
    await clock.advance(10_000)
    expect((await service.deliveries.redeliver(ref)).state.kind).toBe('pending')
    await clock.advance(0)
    expect(sender.requests).toHaveLength(2)
    expect(await state()).toEqual(before)
    await clock.advance(50_000)
    expect(sender.requests).toHaveLength(3)
    expect(await state()).toMatchObject({ kind: 'delivered' })
  })
  it('starts a fresh schedule for a delivered one, with the same id and bytes', async () => {
    const { service, ref, sender, clock, state } = await failedOnce()
    await clock.advance(60_000)
    expect(await state()).toMatchObject({ kind: 'delivered' })
    sender.script(refused(500))
    await service.deliveries.redeliver(ref)
    await clock.advance(60_000)
    expect(sender.requests).toHaveLength(4)
    expect(
      new Set(
        sender.requests.map(({ body, headers }) => `${headers['X-Service-Delivery']} ${body}`),
      ).size,
    ).toBe(1)
    expect(await state()).toMatchObject({ kind: 'delivered' })
  })
  it('counts a success once whose record was made but not confirmed', async () => {
    const { service, ref, sender, clock, state, storage, deliveries } = await failedOnce()
    storage.fail('deliveries.recordAttempts', { takesEffect: true })
    await clock.advance(60_000)
    sender.script(refused(500))
    await service.deliveries.redeliver(ref)
    await clock.advance(1_000)
    expect((await deliveries())[0]?.attempts.map(({ outcome }) => outcome.kind)).toEqual([
      'refused',
      'accepted',
      'refused',
    ])
    expect(await state()).toMatchObject({ kind: 'pending' })
  })
  it('is refused while it is being sent, without its webhook, and for nothing', async () => {
    const { service, ref, sender, clock, webhook } = await failedOnce()
    sender.hold()
    await clock.advance(60_000)
    expect((await refusalOf(service.deliveries.redeliver(ref))).kind).toBe('delivery_busy')
    sender.release()
    await clock.advance(0)
    await service.webhooks.delete({ projectId: ref.projectId, webhookId: webhook.id })
    expect((await refusalOf(service.deliveries.redeliver(ref))).kind).toBe('webhook_not_found')
    expect(
      (await refusalOf(service.deliveries.redeliver({ ...ref, deliveryId: webhook.id }))).kind,
    ).toBe('delivery_not_found')
  })
})

describe('cancelling', () => {
  it('ends an open delivery for good', async () => {
    const { service, ref, sender, clock } = await failedOnce()
    expect((await service.deliveries.cancel(ref)).state).toMatchObject({
      kind: 'cancelled',
      reason: 'operator',
    })
    await clock.advance(3_600_000)
    expect(sender.requests).toHaveLength(1)
    expect((await refusalOf(service.deliveries.cancel(ref))).kind).toBe('delivery_final')
    const nothing = { ...ref, deliveryId: ref.projectId }
    expect((await refusalOf(service.deliveries.cancel(nothing))).kind).toBe('delivery_not_found')
  })
})

describe('a burst of events', () => {
  it('goes out as fast as its receiver takes it, also what found no room when it was committed', async () => {
    const { hook, send, sender, clock } = await scene(echo)
    await hook()
    sender.hold()
    for (let n = 0; n < 30; n++) await send('hi', { sessionId: `s${n}` })
    sender.release()
    await clock.advance(0)
    expect(sender.requests).toHaveLength(30)
  })
})
