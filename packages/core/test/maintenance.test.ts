import { defaultPolicy, type Policy } from '@org/agent-messaging-core'
import { success } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { refused, refusalOf } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const MINUTE = 60_000
const DAY = 86_400_000
const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const keepingFor = (days: Partial<Policy['retention']>): Partial<Policy> => ({
  retention: { ...defaultPolicy.retention, ...days },
})

describe('retention', () => {
  it('keeps finished deliveries for 30 days, and messages forever', async () => {
    const { send, hook, service, ref, clock, deliveries } = await scene({ ...echo, idle: true })
    await hook()
    const sent = send()
    await service.tick({ budgetMs: 1_000 })
    await clock.advance(1_000)
    const { message } = await sent
    const [delivery] = await deliveries()
    const deliveryRef = { projectId: ref.projectId, deliveryId: delivery?.delivery.id ?? '' }
    await clock.advance(30 * DAY - 2_000)
    expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ purgedDeliveries: 0 })
    await clock.advance(2_000)
    expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({
      purgedDeliveries: 1,
      purgedMessages: 0,
    })
    expect((await refusalOf(service.deliveries.get(deliveryRef))).kind).toBe('delivery_not_found')
    expect((await refusalOf(service.deliveries.redeliver(deliveryRef))).kind).toBe(
      'delivery_not_found',
    )
    await service.messages.get({ ...ref, messageId: message.id })
  })
  it('does not ask the store to purge rows that the policy keeps forever', async () => {
    const { service, storage, telemetry } = await scene({
      idle: true,
      policy: keepingFor({ deliveriesMs: Infinity, messagesMs: Infinity }),
    })
    storage.fail('messages.purge', { times: Infinity })
    storage.fail('deliveries.purge', { times: Infinity })
    await service.tick({ budgetMs: 1_000 })
    expect(telemetry.named('store.unavailable')).toEqual([])
  })
  it('keeps the counts of the whole step in which their time ends', async () => {
    const { send, service, project, clock } = await scene({ ...echo, idle: true })
    const step = 5 * MINUTE
    const end = Math.floor(clock.now() / step) * step + step + 2 * DAY
    const sent = send()
    await service.tick({ budgetMs: 1_000 })
    const read = async () => {
      const from = clock.now() - 2 * DAY
      const asked = { projectId: project.id, step: '5m', from } as const
      return (await service.stats(asked)).total.messages
    }
    await clock.advance(end - 1 - clock.now())
    await sent
    await service.tick({ budgetMs: 1_000 })
    expect(await read()).toBe(1)
    await clock.advance(1)
    await service.tick({ budgetMs: 1_000 })
    expect(await read()).toBe(0)
  })
  it('purges without a request, and keeps open deliveries', async () => {
    const policy = {
      ...keepingFor({ deliveriesMs: MINUTE, messagesMs: MINUTE }),
      retry: { ...defaultPolicy.retry, delaysMs: [DAY] },
    }
    const { send, hook, sender, clock, deliveries, telemetry, ref, service } = await scene({
      ...echo,
      policy,
    })
    await hook('https://one.example')
    await hook('https://other.example')
    sender.script(refused(500))
    const first = await send('hi', { idempotencyKey: 'key' })
    await clock.advance(3 * MINUTE)
    expect((await deliveries()).map(({ delivery }) => delivery.state.kind)).toEqual(['pending'])
    expect(telemetry.named('maintenance.done')).toEqual([
      { name: 'maintenance.done', cancelled: 0, purgedDeliveries: 1, purgedMessages: 1 },
    ])
    expect(
      (await refusalOf(service.messages.get({ ...ref, messageId: first.message.id }))).kind,
    ).toBe('message_not_found')
    expect((await send('hi', { idempotencyKey: 'key' })).attached).toBe(false)
  })
  it('continues at once when one round was not enough', async () => {
    const { service, storage } = await scene({
      idle: true,
      policy: keepingFor({ messagesMs: DAY }),
    })
    let left = 2_000
    storage.messages.purge = ({ limit }) => {
      const purged = Math.min(limit, left)
      left -= purged
      return Promise.resolve(success({ removed: purged, looked: purged }))
    }
    expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ purgedMessages: 2_000 })
  })
  it('deletes any number of rows in bounded steps', async () => {
    const { post, service, clock, runtime } = await scene({
      ...echo,
      idle: true,
      agent: { concurrency: 100 },
      policy: keepingFor({ messagesMs: DAY }),
    })
    for (let n = 0; n < 501; n++) await post('hello', { sessionId: String(n) })
    expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ messages: 501 })
    expect(runtime.requests).toHaveLength(501)
    await clock.advance(DAY + 5 * MINUTE)
    expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ purgedMessages: 501 })
  })
})

it('maintenance cancels deliveries of a disabled webhook that exceed the number or the age', async () => {
  const disabledBacklog = { max: 2, maxAgeMs: 7 * DAY }
  const { post, hook, service, ref, clock, deliveries } = await scene({
    ...echo,
    idle: true,
    policy: { disabledBacklog },
  })
  const { webhook } = await hook()
  await service.webhooks.disable({ projectId: ref.projectId, webhookId: webhook.id })
  for (let n = 0; n < 3; n++) {
    await post()
    await service.tick({ budgetMs: 1_000 })
    await clock.advance(1_000)
  }
  await service.tick({ budgetMs: 1_000 })
  const states = async () =>
    (await deliveries()).map(({ delivery: { state } }) =>
      'reason' in state ? state.reason : state.kind,
    )
  expect(await states()).toEqual(['webhook_disabled', 'pending', 'pending'])
  await clock.advance(7 * DAY)
  expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ cancelled: 2 })
  expect(await states()).toEqual(['webhook_disabled', 'webhook_disabled', 'webhook_disabled'])
})

it('a step that the storage refuses is tried in the next round, and the other steps still run', async () => {
  const { service, storage, post, clock, telemetry } = await scene({
    ...echo,
    idle: true,
    policy: keepingFor({ messagesMs: DAY }),
  })
  await post()
  await service.tick({ budgetMs: 1_000 })
  await clock.advance(DAY + 5 * MINUTE)
  storage.fail('deliveries.cancelStale')
  expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ purgedMessages: 1 })
  expect(telemetry.facts.filter(({ name }) => name === 'store.unavailable')).toHaveLength(1)
})
