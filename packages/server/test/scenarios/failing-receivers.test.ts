import { describe, expect, it as test } from 'vitest'
import { openReceiver, openScene, type Receiver, type Scene } from './scene.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Stage = Scene & { receiver(answer?: Receiver['answer']): Promise<Receiver> }

const it = test.extend<{ scene: Stage }>({
  scene: async ({ onTestFinished }, use) => {
    const scene = await openScene()
    onTestFinished(scene.close)
    await use({
      ...scene,
      receiver: async (answer) => {
        const opened = await openReceiver(scene.clock, answer)
        onTestFinished(opened.close)
        return opened
      },
    })
  },
})

const times = async (n: number, work: () => Promise<unknown>): Promise<void> => {
  await Promise.all(Array.from({ length: n }, work))
}
const accepted = ({ hits }: Receiver) => hits.filter(({ status }) => status === 200)
const webhookOf = async (scene: Scene, { id }: { id: string }) =>
  (await scene.api('GET', `/v1/webhooks/${id}`)).body

describe.concurrent('a receiver that is down for an hour', () => {
  it('gets each delivery once after it is back, and no attempt too early', async ({ scene }) => {
    const hook = await scene.receiver(500)
    const webhook = await scene.webhook(hook.url)
    await times(20, () => scene.send())
    await scene.pass(HOUR, 30 * SECOND)
    expect(accepted(hook)).toHaveLength(0)
    expect(await webhookOf(scene, webhook)).toMatchObject({
      enabled: true,
      circuit: expect.stringMatching(/open/),
    })
    hook.answer = 200
    await scene.pass(3 * HOUR, MINUTE)
    expect(await scene.deliveries('status=delivered')).toHaveLength(20)
    expect(new Set(accepted(hook).map(({ id }) => id)).size).toBe(20)
    expect(accepted(hook)).toHaveLength(20)
    expect(await webhookOf(scene, webhook)).toMatchObject({
      circuit: 'closed',
      consecutiveFailures: 0,
    })
    const delays = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR]
    for (const id of new Set(hook.hits.map((hit) => hit.id))) {
      const at = hook.hits.filter((hit) => hit.id === id).map((hit) => hit.at)
      at.slice(1).forEach((time, n) =>
        expect(time - (at[n] ?? 0)).toBeGreaterThanOrEqual(delays[n] ?? 0),
      )
    }
  })
})

describe.concurrent('a receiver that fails the first attempt of each delivery', () => {
  it('gets all deliveries, because a probe takes one that was tried', async ({ scene }) => {
    const tried = new Set<string>()
    const flaky = await scene.receiver(({ id }) => {
      const status = tried.has(id) ? 200 : 500
      tried.add(id)
      return { status }
    })
    await scene.webhook(flaky.url)
    await times(40, () => scene.send())
    await scene.pass(MINUTE, SECOND)
    expect(new Set(accepted(flaky).map(({ id }) => id)).size).toBe(40)
  })
})

describe.concurrent('a receiver that answers 410', () => {
  it('is retried like any other by default', async ({ scene }) => {
    const gone = await scene.receiver(410)
    const webhook = await scene.webhook(gone.url)
    await scene.send()
    await scene.pass(20 * SECOND)
    expect(gone.hits).toHaveLength(2)
    expect(await webhookOf(scene, webhook)).toMatchObject({ enabled: true, consecutiveFailures: 2 })
  })
  it('is disabled with an event if its webhook has disableOnGone', async ({ scene }) => {
    const gone = await scene.receiver(410)
    const watcher = await scene.receiver()
    const webhook = await scene.webhook(gone.url, { disableOnGone: true })
    await scene.webhook(watcher.url, { events: ['webhook.disabled'] })
    await scene.send()
    await scene.settled(() => watcher.hits.length === 1)
    expect(await webhookOf(scene, webhook)).toMatchObject({
      enabled: false,
      disabledReason: 'gone',
    })
    const heard = JSON.parse(watcher.hits[0]?.body ?? '{}')
    expect(heard).toMatchObject({
      event: 'webhook.disabled',
      data: { webhookId: webhook.id, reason: 'gone' },
    })
    await scene.pass(HOUR, MINUTE)
    expect(gone.hits).toHaveLength(1)
  })
})

describe.concurrent('a receiver that always fails', () => {
  it('is disabled with one event after five days of failures', async ({ scene }) => {
    const dead = await scene.receiver(500)
    const watcher = await scene.receiver()
    const webhook = await scene.webhook(dead.url)
    await scene.webhook(watcher.url, { events: ['webhook.disabled'] })
    for (let day = 0; day < 6; day++) {
      await times(2, () => scene.send())
      await scene.pass(DAY, HOUR)
      if (day === 3) expect(await webhookOf(scene, webhook)).toMatchObject({ enabled: true })
    }
    expect(await webhookOf(scene, webhook)).toMatchObject({
      enabled: false,
      disabledReason: 'failing',
    })
    expect(watcher.hits.map(({ body }) => JSON.parse(body).data.reason)).toEqual(['failing'])
    const before = dead.hits.length
    await times(2, () => scene.send())
    await scene.pass(HOUR, MINUTE)
    expect(dead.hits).toHaveLength(before)
  })
})

describe.concurrent('disabling and enabling', () => {
  it('keeps pending deliveries and sends them after a successful probe', async ({ scene }) => {
    const hook = await scene.receiver()
    const webhook = await scene.webhook(hook.url)
    expect((await scene.api('POST', `/v1/webhooks/${webhook.id}/disable`)).body).toMatchObject({
      enabled: false,
      disabledReason: 'operator',
    })
    await times(40, () => scene.send())
    await scene.pass(HOUR, MINUTE)
    expect(hook.hits).toHaveLength(0)
    expect(await scene.deliveries(`webhookId=${webhook.id}&status=pending`)).toHaveLength(40)

    hook.answer = 500
    expect((await scene.api('POST', `/v1/webhooks/${webhook.id}/enable`)).body).toMatchObject({
      enabled: true,
      circuit: 'half_open',
    })
    await scene.settled(() => hook.hits.length > 0)
    await scene.pass(SECOND)
    expect(hook.hits).toHaveLength(1) // no request follows a failed probe

    hook.answer = 200
    await scene.pass(30 * MINUTE, 20 * SECOND)
    expect(accepted(hook)).toHaveLength(40)
    expect(hook.maxConcurrent).toBeLessThanOrEqual(8)
    expect(await webhookOf(scene, webhook)).toMatchObject({ enabled: true, circuit: 'closed' })
  })
})
