import { createService, type AgentSettings } from '@org/agent-messaging-core'
import { fakePlatform, memoryWorkSignal, refused } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'

// No process finds work by a poll here, and time passes only where a test says so.
const HOUR_MS = 3_600_000
const policy = { pollMs: HOUR_MS, runLeaseMs: 24 * HOUR_MS }

/**
 * Two processes on one storage. The first process has the only agent, `bot`.
 * With `isIdle` the second process has the API only.
 */
async function twoProcesses(
  agent: Partial<AgentSettings> = {},
  { exclusive = true, isIdle = false } = {},
) {
  const first = { ...fakePlatform({ exclusive }), workSignal: memoryWorkSignal(), policy }
  const { runtime, runtimes, ids, sender } = fakePlatform({ exclusive })
  const storage = first.storage.reopen()
  const second = {
    ...first,
    storage,
    runtime,
    runtimes,
    sender,
    ids: { next: () => `second-${ids.next()}` },
  }
  const services = [createService(first), createService(second)] as const
  const { id: projectId } = await services[0].projects.create({ name: 'test' })
  await services[0].start()
  await services[0].agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
    ...agent,
  })
  if (!isIdle) await services[1].start()
  const ref = { projectId, agent: 'bot' }
  const post = async (n: 0 | 1, sessionId = 's') =>
    (await services[n].messages.send({ ...ref, sessionId, message: 'hi', waitMs: 0 })).message.id
  const hook = async () =>
    (
      await services[0].webhooks.create({
        projectId,
        url: 'https://receiver.example',
        events: ['*'],
      })
    ).webhook
  const settled = () => first.clock.advance(0)
  return {
    ...{
      one: first,
      other: second,
      services,
      projectId,
      ref,
      post,
      hook,
      settled,
      clock: first.clock,
    },
  }
}

describe('a message that its process does not run', () => {
  it('runs at once in the process that has the agent', async () => {
    const { one, post, settled } = await twoProcesses()
    const id = await post(1)
    await settled()
    expect(one.runtime.openRuns).toEqual([id])
  })

  it('runs at once if it was accepted by a process without workers', async () => {
    const { one, post, settled } = await twoProcesses({}, { isIdle: true })
    const id = await post(1)
    await settled()
    expect(one.runtime.openRuns).toEqual([id])
  })

  it('runs in a process with a free slot', async () => {
    const { one, other, post, settled } = await twoProcesses(
      { concurrency: 1 },
      { exclusive: false },
    )
    const [first, second] = [await post(0, 'a'), await post(0, 'b')]
    await settled()
    expect([one.runtime.openRuns, other.runtime.openRuns]).toEqual([[first], [second]])
  })

  it("runs at once after its session's message is cancelled", async () => {
    const { one, services, ref, post, settled } = await twoProcesses()
    const [first, second] = [await post(0), await post(0)]
    await services[1].messages.cancel({ ...ref, messageId: first })
    await settled()
    expect(one.runtime.openRuns).toContain(second)
  })

  it('runs again at once when the caller retries it', async () => {
    const { one, services, ref, post, settled } = await twoProcesses()
    const id = await post(0)
    one.runtime.fail(id)
    await settled()
    await services[1].messages.retry({ ...ref, messageId: id })
    await settled()
    expect(one.runtime.openRuns).toEqual([id])
  })

  it('runs at once after another process received the late answer of the message before it', async () => {
    const { one, services, post, settled } = await twoProcesses()
    const [first, second] = [await post(0), await post(0)]
    one.runtime.defer(first)
    await settled()
    const { runToken = '' } = one.runtime.requests[0] ?? {}
    await services[1].host.answerRun({
      messageId: first,
      runToken,
      run: { kind: 'answered', response: 'late' },
    })
    await settled()
    expect(one.runtime.openRuns).toEqual([second])
  })

  it('runs in another process when the message before it ends in a stopping process', async () => {
    const { one, other, services, post, settled, clock } = await twoProcesses(
      {},
      { exclusive: false },
    )
    const [first, second] = [await post(0), await post(0)]
    const stopping = services[0].stop({ graceMs: 1_000 })
    await settled()
    one.runtime.answer(first, 'in time')
    await settled()
    expect(other.runtime.openRuns).toEqual([second])
    await clock.advance(1_000)
    await stopping
  })

  it('is not claimed by a process that has no room or stops', async () => {
    const { one, other, services, ref, post, settled, clock } = await twoProcesses(
      { concurrency: 1 },
      { exclusive: false },
    )
    const [first, second, third] = [await post(0, 'a'), await post(0, 'b'), await post(0, 'c')]
    await settled()
    expect([one.runtime.openRuns, other.runtime.openRuns]).toEqual([[first], [second]])
    other.runtime.answer(second, 'done')
    await settled()
    expect(other.runtime.openRuns).toEqual([third])
    const stopping = services[1].stop({ graceMs: 0 })
    await clock.advance(2_000)
    await stopping
    expect((await services[0].messages.get({ ...ref, messageId: third })).state.kind).toBe('queued')
    await post(0, 'd')
    await settled()
    expect(other.runtime.openRuns).toEqual([])
  })
})

describe('a delivery that its process does not send', () => {
  it('is sent at once by a process that sends', async () => {
    const { one, services, hook, projectId, settled } = await twoProcesses({}, { isIdle: true })
    const { id: webhookId } = await hook()
    await services[1].webhooks.sendTestEvent({ projectId, webhookId })
    await settled()
    expect(one.sender.requests).toHaveLength(1)
  })

  it('is sent at once after a process without workers received a late answer', async () => {
    const { one, services, hook, post, settled } = await twoProcesses({}, { isIdle: true })
    await hook()
    const id = await post(0)
    one.runtime.defer(id)
    await settled()
    const { runToken = '' } = one.runtime.requests[0] ?? {}
    await services[1].host.answerRun({
      messageId: id,
      runToken,
      run: { kind: 'answered', response: 'late' },
    })
    await settled()
    expect(one.sender.requests).toHaveLength(1)
  })

  it('is redelivered at once after a call to any process', async () => {
    const { one, services, hook, post, projectId, settled, clock } = await twoProcesses(
      {},
      { isIdle: true },
    )
    await hook()
    one.sender.script(refused(500))
    const id = await post(0)
    one.runtime.answer(id, 'done')
    await settled()
    const { data } = await services[1].deliveries.list({ projectId, limit: 1 })
    await services[1].deliveries.redeliver({ projectId, deliveryId: data[0]?.id ?? '' })
    await clock.advance(1_000)
    expect(one.sender.requests).toHaveLength(2)
  })
})

it('a service listens for work from its start to its stop', async () => {
  const fakes = fakePlatform()
  let hearers = 0
  const onAnnounced = () => (hearers++, () => void hearers--)
  const service = createService({
    ...fakes,
    workSignal: { announce: () => undefined, onAnnounced },
  })
  await service.start()
  await service.start()
  expect(hearers).toBe(2)
  const stopping = service.stop()
  await fakes.clock.advance(1_000)
  await stopping
  expect(hearers).toBe(0)
})
