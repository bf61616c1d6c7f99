import { expect } from 'vitest'
import type { Agent, Message } from '@org/agent-messaging-core'
import type { MessageStateKind, MessageFilter } from '@org/agent-messaging-core/storage'
import { heldBy, MINUTE, NOW, OTHER_PROJECT_ID, UNKNOWN_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const STATES: readonly MessageStateKind[] = [
  'queued',
  'running',
  'deferred',
  'responded',
  'failed',
  'cancelled',
]

export function readingSuite(it: StorageTest): void {
  it('returns each state with its fields', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const messages = await createOneOfEachState(storage, scene, agent)
    expect(messages.map(({ state }) => state)).toEqual([
      { kind: 'queued', notBefore: NOW },
      { kind: 'running', startedAt: NOW },
      { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE },
      {
        kind: 'responded',
        response: `answer to ${messages[3]?.id}`,
        respondedAt: NOW,
        responseTimeMs: 1,
      },
      { kind: 'failed', error: { code: 'RUNTIME_ERROR', message: 'it broke' }, failedAt: NOW },
      { kind: 'cancelled', cancelledAt: NOW },
    ])
  })

  it('finds only the final messages of many ids', async ({ storage, scene }) => {
    const messages = await createOneOfEachState(storage, scene, await scene.agent())
    const found = await storage.messages.findSettled([...messages.map(({ id }) => id), UNKNOWN_ID])
    expect(new Set(found.map(({ state }) => state.kind))).toEqual(
      new Set(['responded', 'failed', 'cancelled']),
    )
    expect(found).toHaveLength(3)
    expect(found).toEqual(expect.arrayContaining(messages.slice(3)))
    expect(await storage.messages.findSettled([])).toEqual([])
  })

  it('finds the existing messages of many ids, in any state', async ({ storage, scene }) => {
    const messages = await createOneOfEachState(storage, scene, await scene.agent())
    const found = await storage.messages.find([...messages.map(({ id }) => id), UNKNOWN_ID])
    expect(found.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(messages)
    expect(await storage.messages.find([])).toEqual([])
  })

  it('finds the final ones of thousands of ids', async ({ storage: { messages }, scene }) => {
    const run = await scene.run(await scene.agent())
    await scene.answer(run)
    const unknown = Array.from(
      { length: 5_000 },
      (_, i) => `${String(i).padStart(8, '0')}-0000-7ffd-8000-000000000000`,
    )
    expect(await messages.findSettled([...unknown, run.message.id])).toHaveLength(1)
  })

  it('lists messages, newest first, by agent, session, status and state', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const created = await createOneOfEachState(storage, scene, agent)
    await scene.send(await scene.agent())
    const list = async (filter: Partial<MessageFilter>): Promise<Message[]> => {
      const { data } = await storage.messages.list(
        { projectId: agent.projectId, agentId: agent.id, ...filter },
        { limit: 50 },
      )
      return [...data]
    }
    expect(await list({})).toEqual(created.toReversed())
    expect((await list({ status: 'pending' })).map(({ state }) => state.kind)).toEqual([
      ...['cancelled', 'failed', 'deferred', 'running', 'queued'],
    ])
    expect((await list({ status: 'responded' })).map(({ state }) => state.kind)).toEqual([
      'responded',
    ])
    for (const state of STATES)
      expect((await list({ state })).map((message) => message.state.kind)).toEqual([state])
    expect(await list({ sessionId: 'failed', status: 'pending', state: 'failed' })).toHaveLength(1)
    expect(await list({ sessionId: 'failed', state: 'queued' })).toEqual([])
    expect(await list({ sessionId: 'FAILED' })).toEqual([])
  })

  it('lists and counts messages by their progress and the time of their state', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    await createOneOfEachState({ messages }, scene, agent)
    const again = await scene.run(agent, { sessionId: 'again' })
    await messages.recordRun({
      ...heldBy(again),
      state: { kind: 'queued', notBefore: NOW + MINUTE },
      now: NOW + MINUTE,
    })
    await scene.run(agent, { sessionId: 'later', now: NOW + MINUTE })
    const own = { projectId: agent.projectId, agentId: agent.id }
    const sessions = async (filter: Partial<MessageFilter>): Promise<string[]> => {
      const { data } = await messages.list({ ...own, ...filter }, { limit: 50 })
      expect(await messages.count({ ...own, ...filter }, 50)).toBe(data.length)
      return data.map(({ sessionId }) => sessionId)
    }
    expect(await sessions({ progress: 'waiting' })).toEqual(['queued'])
    expect(await sessions({ progress: 'working' })).toEqual([
      ...['later', 'again', 'deferred', 'running'],
    ])
    expect(await sessions({ changedFrom: NOW + MINUTE })).toEqual(['later'])
    expect(await sessions({ changedFrom: NOW, state: 'failed' })).toEqual(['failed'])
    expect(await sessions({ sessionId: 'failed', changedFrom: NOW + 1 })).toEqual([])
    expect(await messages.count(own, 3)).toBe(3)
    expect(await messages.count({ ...own, projectId: OTHER_PROJECT_ID }, 3)).toBe(0)
  })
}

/** Each in the session of its state's name, in the order of `STATES`. */
async function createOneOfEachState(
  { messages }: Pick<UnwrappedStorage, 'messages'>,
  scene: Scene,
  agent: Agent,
): Promise<Message[]> {
  const queued = await scene.send(agent, { sessionId: 'queued' })
  const running = await scene.run(agent, { sessionId: 'running' })
  const deferred = await scene.run(agent, { sessionId: 'deferred' })
  await messages.defer({
    ...heldBy(deferred),
    state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE },
  })
  const responded = await scene.run(agent, { sessionId: 'responded' })
  await scene.answer(responded)
  const failed = await scene.run(agent, { sessionId: 'failed' })
  const error = { code: 'RUNTIME_ERROR', message: 'it broke' } as const
  await messages.recordRun({
    ...heldBy(failed),
    state: { kind: 'failed', error, failedAt: NOW },
    now: NOW,
  })

  const cancelled = await scene.send(agent, { sessionId: 'cancelled' })
  await scene.cancel(cancelled)

  const created = [
    queued,
    ...[running, deferred, responded, failed].map(({ message }) => message),
    cancelled,
  ]
  const kept = await Promise.all(created.map(scene.reread))
  return kept.filter((message) => message !== undefined)
}
