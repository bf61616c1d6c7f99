import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import { RETRY_PAUSE_MS, type ClaimedMessage } from '@org/agent-messaging-core/storage'
import { aRecovery, PROJECT_ID } from '../../builders.js'
import { fakeIds } from '../../fakes/fake-ids.js'
import { heldBy, MINUTE, NOW, refTo, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const nextDeliveryId = fakeIds().next

const later = NOW + MINUTE
const failedAt = (at: number, code: 'RUNTIME_ERROR' | 'RUNTIME_TIMEOUT' = 'RUNTIME_ERROR') =>
  ({ kind: 'failed', error: { code, message: 'it broke' }, failedAt: at }) as const

const fail = (
  { messages }: UnwrappedStorage,
  claimed: ClaimedMessage,
  at = NOW,
  code?: 'RUNTIME_TIMEOUT',
) => messages.recordRun({ ...heldBy(claimed), state: failedAt(at, code), now: at })

/** Makes `count` failed messages of a session. Returns their ids. */
async function failed(
  storage: UnwrappedStorage,
  scene: Scene,
  agent: Agent,
  count: number,
  sessionId = 's',
) {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const run = await scene.run(agent, { sessionId })
    await fail(storage, run)
    ids.push(run.message.id)
  }
  return ids
}

async function started(
  { recoveries }: UnwrappedStorage,
  agent: Agent,
  filter: Partial<ReturnType<typeof aRecovery>['filter']> = {},
) {
  const recovery = aRecovery({
    filter: { status: 'failed', createdBefore: NOW + 1, agentId: agent.id, ...filter },
  })
  expect(await recoveries.create(recovery, 100)).toBe('created')
  return recovery
}

/** Does pages at one time until none is left. */
async function advanceAll({ recoveries }: UnwrappedStorage, now: number, limit = 100) {
  while (await recoveries.advance({ nextDeliveryId, limit, now }));
}

/** Claims and answers what is due until nothing is left. Returns the ids in their order. */
async function answerAll(scene: Scene, agent: Agent, now: number): Promise<string[]> {
  const order: string[] = []
  for (;;) {
    const claims = await scene.claim(agent, now)
    if (claims.length === 0) return order
    for (const claim of claims) {
      await scene.answer(claim, now)
      order.push(claim.message.id)
    }
  }
}

const SETTLE = { limit: 1, now: later, pausedBefore: 0 }
const NOTHING = { waiting: 0, failing: 0, delivered: 0, exhausted: 0, cancelled: 0 }

export function retriedMessagesSuite(it: StorageTest): void {
  it('retries the failed messages of an agent in the order of their session, and counts their ends', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const ids = await failed(storage, scene, agent, 5)
    await failed(storage, scene, await scene.agent(), 1)
    const answered = await scene.run(agent, { sessionId: 'other' })
    await scene.answer(answered)
    const { id } = await started(storage, agent)
    const read = () => storage.recoveries.get(PROJECT_ID, id)
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 2, now: later }),
    ).toMatchObject({
      state: { kind: 'running' },
      matched: 2,
    })
    expect(await read()).toMatchObject({ ...NOTHING, redelivered: 2, waiting: 2 })
    await advanceAll(storage, later, 2)
    expect(await read()).toMatchObject({
      state: { kind: 'sending' },
      ...{ ...NOTHING, matched: 5, redelivered: 5, waiting: 5 },
    })
    expect(await storage.recoveries.settle(SETTLE)).toEqual([])
    expect(await answerAll(scene, agent, later + SECOND)).toEqual(ids)
    const done = {
      state: { kind: 'done', finishedAt: later + SECOND },
      ...{ ...NOTHING, matched: 5, redelivered: 5, delivered: 5 },
    }
    expect(await read()).toMatchObject(done)
    expect(await storage.recoveries.settle(SETTLE)).toMatchObject([{ id, ...done }])
    expect(await read()).toMatchObject(done)
    expect((await storage.recoveries.list(PROJECT_ID, { limit: 9 })).data).toMatchObject([done])
  })

  it('counts a retried message that waits, that failed a run, that fails again and that is cancelled', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    for (const session of ['a', 'b', 'c']) await failed(storage, scene, agent, 1, session)
    const { id } = await started(storage, agent)
    await advanceAll(storage, later)
    const counts = () => storage.recoveries.get(PROJECT_ID, id)
    const [first, second, third] = await scene.claim(agent, later)
    if (!first || !second || !third) throw new Error('three messages are due')
    expect(await counts()).toMatchObject({ ...NOTHING, waiting: 3 })
    await storage.messages.recordRun({
      ...heldBy(first),
      state: { kind: 'queued', notBefore: later },
      now: later,
    })
    expect(await counts()).toMatchObject({ ...NOTHING, waiting: 2, failing: 1 })
    const [again] = await scene.claim(agent, later)
    expect(await counts()).toMatchObject({ ...NOTHING, waiting: 2, failing: 1 })
    if (again) await fail(storage, again, later)
    await scene.cancel(second.message)
    expect(await counts()).toMatchObject({ ...NOTHING, waiting: 1, exhausted: 1, cancelled: 1 })
    // It is not retried twice by one recovery.
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 9, now: later + MINUTE }),
    ).toBeUndefined()
  })

  it('a message that asks a person waits, also in its next run', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await failed(storage, scene, agent, 1)
    const { id } = await started(storage, agent)
    await advanceAll(storage, later)
    const [run] = await scene.claim(agent, later)
    if (!run) throw new Error('one message is due')
    const inputs = [{ id: 'question', question: 'Which one?', askedAt: later }]
    const outgoing = { events: [], nextDeliveryId: () => 'none' }
    await storage.messages.ask({
      ...heldBy(run),
      state: { kind: 'input_required', askedAt: later, deadlineAt: later + 2, dueAt: later + 1 },
      inputs,
      outgoing,
    })
    const read = () => storage.recoveries.get(PROJECT_ID, id)
    expect(await read()).toMatchObject({ ...NOTHING, waiting: 1 })
    await storage.messages.changeInput({
      ...refTo(run.message),
      inputId: 'question',
      state: { kind: 'queued', notBefore: later },
      inputs,
      now: later,
      outgoing,
    })
    await scene.claim(agent, later)
    expect(await read()).toMatchObject({ ...NOTHING, waiting: 1 })
  })

  it('finds only the messages of its filter', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const [first = ''] = await failed(storage, scene, agent, 1)
    const timedOut = await scene.run(agent)
    await fail(storage, timedOut, NOW, 'RUNTIME_TIMEOUT')
    const later2 = await scene.run(agent, { now: NOW + SECOND })
    await fail(storage, later2, NOW + SECOND)
    const matched = async (filter: Parameters<typeof started>[2]) => {
      const { id } = await started(storage, agent, filter)
      await advanceAll(storage, later)
      const found = (await storage.recoveries.get(PROJECT_ID, id))?.matched
      for (const claim of await scene.claim(agent, later)) await fail(storage, claim, later)
      return found
    }
    expect(await matched({ createdAfter: NOW + 2 * SECOND, createdBefore: later })).toBe(0)
    expect(await matched({ errorCode: 'RUNTIME_TIMEOUT', createdBefore: later })).toBe(1)
    expect(await matched({ createdAfter: NOW + SECOND, createdBefore: later })).toBe(1)
    expect(first).not.toBe('')
  })

  it('waits for room in a full session, and keeps its order', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 1 })
    const ids = await failed(storage, scene, agent, 5)
    const [free = ''] = await failed(storage, scene, agent, 1, 'another session')
    const { id } = await started(storage, agent)
    let now = later
    await advanceAll(storage, now)
    expect(await storage.recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'running' },
      redelivered: 3,
    })
    const order: string[] = []
    for (let round = 0; round < 3; round++) {
      order.push(...(await answerAll(scene, agent, now)))
      expect(
        await storage.recoveries.advance({ nextDeliveryId, limit: 9, now: now + 1 }),
      ).toBeUndefined()
      now += RETRY_PAUSE_MS
      await advanceAll(storage, now)
    }
    expect(order.filter((one) => one !== free)).toEqual(ids)
    expect(order).toContain(free)
    expect(await storage.recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'done' },
      ...{ redelivered: 6, delivered: 6 },
    })
  })

  it('keeps the order of a session that is full during a page', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 1 })
    const ids = await failed(storage, scene, agent, 3)
    await failed(storage, scene, agent, 2, 'another session')
    ids.push(...(await failed(storage, scene, agent, 2)))
    const { id } = await started(storage, agent)
    const order: string[] = []
    for (let now = later; now < later + MINUTE; now += RETRY_PAUSE_MS) {
      for (let page = 0; page < 2; page++)
        await storage.recoveries.advance({ nextDeliveryId, limit: 2, now })
      order.push(...(await answerAll(scene, agent, now)))
    }
    expect(order.filter((one) => ids.includes(one))).toEqual(ids)
    expect(await storage.recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'done' },
      delivered: 7,
    })
  })

  it('two recoveries retry each message once, although all fail again', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    for (const session of ['a', 'b']) await failed(storage, scene, agent, 1, session)
    const failAll = async (now: number) => {
      for (const claim of await scene.claim(agent, now)) await fail(storage, claim, now)
    }
    const older = await started(storage, agent)
    await storage.recoveries.advance({ nextDeliveryId, limit: 1, now: later })
    await failAll(later)
    const newer = await started(storage, agent)
    for (let page = 0; page < 2; page++)
      await storage.recoveries.advance({ nextDeliveryId, limit: 1, now: later })
    for (let now = later; now < later + MINUTE; now += RETRY_PAUSE_MS) {
      await failAll(now)
      await advanceAll(storage, now, 1)
    }
    for (const { id } of [older, newer])
      expect(await storage.recoveries.get(PROJECT_ID, id)).toMatchObject({
        state: { kind: 'done' },
        redelivered: 2,
      })
  })

  it('waits while the agent does not run, and fails with it', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await failed(storage, scene, agent, 1)
    const stopped = { agentId: agent.id, from: 'running', to: { kind: 'stopped' } } as const
    await storage.agents.changeState(stopped)
    const { id } = await started(storage, agent)
    await advanceAll(storage, later)
    const read = () => storage.recoveries.get(PROJECT_ID, id)
    expect(await read()).toMatchObject({ state: { kind: 'running' }, matched: 0 })
    // The clock was set back by more than a pause.
    expect(await storage.recoveries.advance({ nextDeliveryId, limit: 9, now: NOW })).toMatchObject({
      id,
    })
    await storage.agents.delete(PROJECT_ID, agent.id)
    await advanceAll(storage, NOW + MINUTE)
    expect(await read()).toMatchObject({
      state: { kind: 'failed', reason: 'agent_deleted', finishedAt: NOW + MINUTE },
    })
  })

  it('keeps the counts of messages that are deleted, or that a newer recovery retries', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    for (const session of ['purged', 'erased', 'again', 'open', 'principal'])
      await failed(storage, scene, agent, 1, session)
    const executionPrincipal = { type: 'end_user', endUserId: 'u' } as const
    const ofUser = await scene.run(agent, { sessionId: 'user', executionPrincipal })
    await fail(storage, ofUser)
    const { id } = await started(storage, agent)
    await advanceAll(storage, later)
    for (const claim of await scene.claim(agent, later)) {
      const { sessionId } = claim.message
      if (sessionId === 'purged') await scene.answer(claim, NOW)
      if (sessionId === 'erased') await scene.answer(claim, later)
      if (sessionId === 'again') await fail(storage, claim, later)
    }
    const read = (of = id) => storage.recoveries.get(PROJECT_ID, of)
    const counts = { ...NOTHING, delivered: 2, exhausted: 1, waiting: 3 }
    expect(await read()).toMatchObject(counts)
    await storage.messages.purge({ finishedBefore: NOW + 1, limit: 9, now: later })
    const owner = { projectId: PROJECT_ID, agentId: agent.id }
    await storage.messages.erase({ ...owner, sessionId: 'erased' })
    await storage.messages.sweep({ limit: 9, now: NOW })
    expect(await read()).toMatchObject(counts)
    const newer = await started(storage, agent)
    await advanceAll(storage, later + MINUTE)
    expect(await read()).toMatchObject(counts)
    expect(await read(newer.id)).toMatchObject({ ...NOTHING, waiting: 1, matched: 1 })
    await storage.messages.erasePrincipal({
      ...owner,
      endUserId: 'u',
      countOnly: false,
      after: 0,
      limit: 100,
      now: later,
      force: true,
    })
    expect(await read()).toMatchObject({ ...counts, waiting: 2, cancelled: 1 })
  })

  it('a message that a person retries again leaves its recovery', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await failed(storage, scene, agent, 1)
    const { id } = await started(storage, agent)
    await advanceAll(storage, later)
    const [run] = await scene.claim(agent, later)
    if (!run) throw new Error('one message is due')
    await fail(storage, run, later + SECOND)
    await storage.messages.retry({ ...refTo(run.message), now: later + MINUTE })
    expect(await storage.recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'done', finishedAt: later + SECOND },
      ...{ ...NOTHING, exhausted: 1 },
    })
  })

  it('cancels the search, and keeps the retried messages', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await failed(storage, scene, agent, 3)
    const { id } = await started(storage, agent)
    await storage.recoveries.advance({ nextDeliveryId, limit: 1, now: later })
    const cancelled = await storage.recoveries.decide(PROJECT_ID, id, 'cancel', later)
    expect(cancelled).toMatchObject({ state: { kind: 'cancelled' }, redelivered: 1, waiting: 1 })
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 9, now: later }),
    ).toBeUndefined()
    expect(await answerAll(scene, agent, later)).toHaveLength(1)
  })
}
