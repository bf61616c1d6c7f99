import { createService } from '@org/agent-messaging-core'
import {
  accepted,
  fakePlatform,
  memoryWorkSignal,
  refused,
  mapped,
} from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'

// No process finds anything by a poll here.
const HOUR_MS = 3_600_000
const IN_FLIGHT = 8

/** Two processes on one storage. Only the first one has workers. */
async function twoProcesses(delaysMs: readonly number[] = []) {
  const retry = { delaysMs, jitter: 0, maxRetryAfterMs: 0 }
  const policy = { pollMs: HOUR_MS, runLeaseMs: 24 * HOUR_MS, retry }
  const platform = { ...fakePlatform(), policy, workSignal: memoryWorkSignal() }
  const first = createService(platform)
  const second = createService({ ...platform, storage: platform.storage.reopen() })
  const { id: projectId } = await first.projects.create({ name: 'test' })
  await first.start()
  async function hook(url: string, disableOnGone = false) {
    const created = await first.webhooks.create({ projectId, url, events: ['*'], disableOnGone })
    return { projectId, webhookId: created.webhook.id }
  }
  return { ...platform, first, second, projectId, hook }
}

/** The first process sends as many requests as the limit allows. Three deliveries wait there. */
async function withWaiting() {
  const fakes = await twoProcesses()
  const { clock, first, hook, sender } = fakes
  const which = await hook('https://receiver.example/')
  await first.webhooks.sendTestEvent(which)
  await clock.advance(0)
  sender.hold()
  for (let n = 0; n < IN_FLIGHT + 3; n++) await first.webhooks.sendTestEvent(which)
  await clock.advance(0)
  expect(sender.held).toBe(IN_FLIGHT)
  async function rest() {
    await clock.advance(0)
    sender.release(accepted())
    await clock.advance(0)
    return sender.requests.slice(1 + IN_FLIGHT)
  }
  return { ...fakes, which, rest }
}

it.each(['pause', 'disable', 'delete'] as const)(
  '%s in another process ends the deliveries that wait here',
  async (action) => {
    const { rest, second, which } = await withWaiting()
    if (action === 'pause') await second.webhooks.update({ ...which, change: { paused: true } })
    else await second.webhooks[action](which)
    expect(await rest()).toEqual([])
  },
)

it('a new URL from another process is used for the deliveries that wait here', async () => {
  const { rest, second, which } = await withWaiting()
  const url = 'https://moved.example/'
  await second.webhooks.update({ ...which, change: { url } })
  expect((await rest()).map((request) => request.url)).toEqual([url, url, url])
})

it.each(['pause', 'delete', 'move'] as const)(
  '%s during a claim applies to the deliveries of the claim',
  async (action) => {
    const { clock, first, second, hook, sender, storage } = await twoProcesses()
    const which = await hook('https://receiver.example/')
    const { claimDue } = storage.deliveries
    let answerClaim = (): void => undefined
    const answered = new Promise<void>((resolve) => (answerClaim = resolve))
    Object.assign(storage.deliveries, {
      claimDue: (query: Parameters<typeof claimDue>[0]) =>
        mapped(claimDue(query), (claims) => answered.then(() => claims)),
    })
    await second.webhooks.sendTestEvent(which)
    await clock.advance(0)
    if (action === 'pause') await first.webhooks.update({ ...which, change: { paused: true } })
    else if (action === 'delete') await first.webhooks.delete(which)
    else await first.webhooks.update({ ...which, change: { url: 'https://moved.example/' } })
    answerClaim()
    await clock.advance(0)
    expect(sender.requests.map(({ url }) => url)).toEqual(
      action === 'move' ? ['https://moved.example/'] : [],
    )
  },
)

/** Waits for the events after the present ones, in the process without workers. */
async function nextEvents({ clock, second, projectId }: Awaited<ReturnType<typeof twoProcesses>>) {
  const { nextCursor: after } = await second.events.read({ projectId })
  let names: string[] | undefined
  void second.events.read({ projectId, after, waitMs: 60_000 }).then(({ data }) => {
    names = data.map(({ name }) => name)
  })
  await clock.advance(0)
  return async () => {
    await clock.advance(0)
    return names
  }
}

it('a test event wakes the readers of the log in all processes', async () => {
  const fakes = await twoProcesses()
  const which = await fakes.hook('https://receiver.example/')
  const names = await nextEvents(fakes)
  await fakes.first.webhooks.sendTestEvent(which)
  expect(await names()).toEqual(['webhook.test'])
})

it.each([
  { status: 500, delaysMs: [], name: 'delivery.exhausted' },
  { status: 410, delaysMs: [HOUR_MS], name: 'webhook.disabled' },
])('$name wakes the readers of the log in all processes', async ({ status, delaysMs, name }) => {
  const fakes = await twoProcesses(delaysMs)
  await fakes.hook('https://receiver.example/', true)
  fakes.sender.hold()
  const agent = { name: 'bot', runtime: { kind: 'fake' }, desiredState: 'running' } as const
  await fakes.first.agents.create({ projectId: fakes.projectId, ...agent })
  await fakes.clock.advance(0)
  const names = await nextEvents(fakes)
  fakes.sender.release(refused(status))
  expect(await names()).toEqual([name])
})
