import { createService } from '@org/agent-messaging-core'
import { expect, it, onTestFinished } from 'vitest'
import { scene } from './scene.js'

const SECOND = 1_000
const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}

/** Two services on one store, and a webhook with these limits. Requests stay open. */
async function twoSenders(limits: { maxConcurrency?: number; requestsPerSecond?: number }) {
  const fakes = await scene(echo)
  const { service, project, hook, send, clock, sender } = fakes
  const { webhook } = await hook()
  await service.webhooks.update({ projectId: project.id, webhookId: webhook.id, change: limits })
  const second = createService({ ...fakes, ids: fakes.ids })
  onTestFinished(() => second.stop({ graceMs: 0 }))
  async function backlog(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await send('hi', { sessionId: `session ${n}` })
    await clock.advance(0)
  }
  /** Counts claims whose deliveries were not sent. */
  const released = fakes.storage.deliveries.release
  let releases = 0
  const release: typeof released = (claims, now) => {
    releases++
    return released(claims, now)
  }
  Object.assign(fakes.storage.deliveries, { release })
  return { service, second, clock, sender, backlog, releases: () => releases }
}

it.each([1, 2, 3, 5])('two processes keep maxConcurrency %i together', async (maxConcurrency) => {
  const { second, clock, sender, backlog } = await twoSenders({ maxConcurrency })
  sender.hold()
  await backlog(100 * maxConcurrency)
  await clock.advance(SECOND)
  expect(sender.held).toBe(maxConcurrency)
  await second.start()
  const held: number[] = []
  for (let n = 0; n < 60; n++) {
    sender.release()
    sender.hold()
    await clock.advance(SECOND)
    held.push(sender.held)
  }
  expect(Math.max(...held)).toBe(maxConcurrency)
  expect(Math.max(...held.slice(40))).toBeGreaterThan(0)
  sender.release()
})

it('two processes keep requestsPerSecond together', async () => {
  const { second, clock, sender, backlog } = await twoSenders({ requestsPerSecond: 2 })
  await second.start()
  await backlog(240)
  await clock.advance(60 * SECOND)
  const before = sender.requests.length
  await clock.advance(10 * SECOND)
  const sent = sender.requests.length - before
  expect(sent).toBeGreaterThanOrEqual(16)
  expect(sent).toBeLessThanOrEqual(22)
})

it('a process takes over the share of one that stopped', async () => {
  const { service, second, clock, sender, backlog } = await twoSenders({ maxConcurrency: 1 })
  await second.start()
  await backlog(3)
  await clock.advance(30 * SECOND)
  expect(sender.requests).toHaveLength(3)
  sender.hold()
  await backlog(2)
  await clock.advance(SECOND)
  const stopping = service.stop({ graceMs: 0 })
  sender.release()
  await clock.advance(30 * SECOND)
  await stopping
  expect(sender.requests).toHaveLength(5)
})

it('a process without a share claims once a minute until the shares change', async () => {
  const { second, clock, sender, backlog, releases } = await twoSenders({ maxConcurrency: 1 })
  await second.start()
  sender.hold()
  await backlog(3)
  await clock.advance(60 * SECOND)
  const before = releases()
  await clock.advance(300 * SECOND)
  expect(releases() - before).toBeLessThanOrEqual(5)
  sender.release()
})

it('a limited webhook goes on with all processes after the clock was set back', async () => {
  const { second, clock, sender, backlog } = await twoSenders({ requestsPerSecond: 2 })
  await second.start()
  await backlog(400)
  await clock.advance(60 * SECOND)
  clock.set(clock.now() - 3_600 * SECOND)
  await clock.advance(20 * SECOND)
  const before = sender.requests.length
  await clock.advance(10 * SECOND)
  expect(sender.requests.length - before).toBeGreaterThanOrEqual(16)
})
