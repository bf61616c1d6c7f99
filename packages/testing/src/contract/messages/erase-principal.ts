import { expect } from 'vitest'
import type { Agent, ExecutionPrincipal } from '@org/agent-messaging-core'
import type { EventPayload } from '@org/agent-messaging-core/runtime'
import {
  freezeEvent,
  type ErasedDeliveries,
  type ErasedMessages,
} from '@org/agent-messaging-core/storage'
import { newMessage, PROJECT_ID } from '../../builders.js'
import { accepted } from '../../fakes/fake-sender.js'
import {
  CLAIM_ALL,
  heldBy,
  LEASE_MS,
  MINUTE,
  NOW,
  OTHER_PROJECT_ID,
  SECOND,
  type Scene,
} from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const endUser = (endUserId: string): ExecutionPrincipal => ({ type: 'end_user', endUserId })
const theirs = { executionPrincipal: endUser('u') }
const others = { executionPrincipal: endUser('v') }

/** In steps of two rows, from the first to the last. */
async function messagesOf(
  storage: UnwrappedStorage,
  agent: Agent,
  more: { force?: boolean; countOnly?: boolean; endUserId?: string } = {},
) {
  const step = {
    ...{
      projectId: agent.projectId,
      agentId: agent.id,
      endUserId: 'u',
      force: false,
      countOnly: false,
    },
    ...more,
  }
  const sum = { messages: 0, openMessages: 0 }
  let found: ErasedMessages = { ...sum, next: 0 }
  for (let after: number | undefined = 0; after !== undefined; after = found.next) {
    found = await storage.messages.erasePrincipal({ ...step, now: NOW, limit: 2, after })
    sum.messages += found.messages
    sum.openMessages += found.openMessages
  }
  return [sum.messages, sum.openMessages]
}

async function deliveriesOf(
  storage: UnwrappedStorage,
  more: { countOnly?: boolean; endUserId?: string; projectId?: string } = {},
) {
  let [sum, found]: [number, ErasedDeliveries] = [0, { deliveries: 0, next: 0 }]
  for (let after: number | undefined = 0; after !== undefined; after = found.next) {
    const step = {
      projectId: PROJECT_ID,
      endUserId: 'u',
      countOnly: false,
      after,
      limit: 2,
      now: NOW,
      ...more,
    }
    found = await storage.deliveries.erasePrincipal(step)
    sum += found.deliveries
  }
  return sum
}

export function erasePrincipalSuite(it: StorageTest): void {
  it("erases only this end user's messages, with their keys", async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (const [index, principal] of [theirs, others, theirs, {}, theirs].entries()) {
      await scene.answer(
        await scene.run(agent, { sessionId: `${index}`, idempotencyKey: `${index}`, ...principal }),
      )
    }
    expect(await messagesOf(storage, agent, { countOnly: true })).toEqual([3, 0])
    expect(await messagesOf(storage, agent)).toEqual([3, 0])
    expect(await messagesOf(storage, agent)).toEqual([0, 0])
    const { data } = await storage.messages.list(
      { projectId: PROJECT_ID, agentId: agent.id, order: 'asc' },
      { limit: 9 },
    )
    expect(data.map(({ sessionId }) => sessionId)).toEqual(['1', '3'])
    const sessions = await storage.messages.listSessions(
      { projectId: PROJECT_ID, agentId: agent.id },
      { limit: 9 },
    )
    expect(sessions.data.map(({ sessionId }) => sessionId)).toEqual(['3', '1'])
    const again = await storage.messages.accept(
      newMessage(agent, { sessionId: '0', idempotencyKey: '0', ...theirs }),
    )
    expect(again).toMatchObject({ kind: 'created', message: { sessionId: '0' } })
  })

  it('leaves the messages of others in a session that they share, and forgets what was remembered there', async ({
    storage,
    scene,
  }) => {
    const { messages } = storage
    const agent = await scene.agent()
    const run = await scene.run(agent, others)
    await messages.rememberSession({ ...heldBy(run), sessionState: 'what u said' })
    await scene.answer(run)
    await scene.answer(await scene.run(agent, { ...theirs, now: NOW + SECOND }))
    expect(await messagesOf(storage, agent)).toEqual([1, 0])

    const summary = {
      sessionId: 'session',
      openCount: 0,
      lastMessageId: run.message.id,
      lastMessageAt: NOW,
    }
    expect(
      (await messages.listSessions({ projectId: PROJECT_ID, agentId: agent.id }, { limit: 9 }))
        .data,
    ).toEqual([summary])
    const next = await scene.run(agent, others)
    expect(next.sessionState).toBeUndefined()
    const turns = await messages.history({
      messageId: next.message.id,
      maxTurns: 9,
      maxLength: 9_999,
    })
    expect(turns.map(({ messageId }) => messageId)).toEqual([run.message.id])
    expect(await scene.answer(next)).toMatchObject({ kind: 'recorded', sessionWaits: false })
  })

  it('keeps what is not final, and says how much', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, theirs)
    const queued = await scene.send(agent, theirs)
    await scene.cancel(await scene.send(agent, theirs))
    expect(await messagesOf(storage, agent, { countOnly: true })).toEqual([1, 2])
    expect(await messagesOf(storage, agent)).toEqual([1, 2])
    expect(await scene.answer(run)).toMatchObject({ kind: 'recorded', sessionWaits: true })
    expect((await scene.claim(agent, NOW + MINUTE)).map(({ message }) => message.id)).toEqual([
      queued.id,
    ])
  })

  it('G5: a forced erasure takes the lease of a run, and the session continues in order', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, theirs)
    await scene.send(agent, theirs)
    const third = await scene.send(agent, others)
    await scene.send(agent, theirs)
    const fifth = await scene.send(agent, others)
    expect(await messagesOf(storage, agent, { force: true })).toEqual([3, 0])
    expect(await storage.messages.extendLeases([heldBy(run)], NOW + MINUTE)).toEqual([
      run.message.id,
    ])
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })

    const [claimed] = await scene.claim(agent)
    expect(claimed?.message.id).toBe(third.id)
    if (claimed)
      expect(await scene.answer(claimed)).toMatchObject({ kind: 'recorded', sessionWaits: true })
    const [last] = await scene.claim(agent)
    expect(last?.message.id).toBe(fifth.id)
    if (last)
      expect(await scene.answer(last)).toMatchObject({ kind: 'recorded', sessionWaits: false })
  })

  it('by force erases a session that was theirs alone, and it begins afresh', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, theirs)
    await storage.messages.defer({
      ...heldBy(run),
      state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE },
    })
    for (let i = 0; i < 4; i++) await scene.send(agent, theirs)
    expect(await messagesOf(storage, agent, { force: true })).toEqual([5, 0])
    expect(await storage.messages.getHeld(run.message.id)).toBeUndefined()
    expect(
      (
        await storage.messages.listSessions(
          { projectId: PROJECT_ID, agentId: agent.id },
          { limit: 9 },
        )
      ).data,
    ).toEqual([])
    expect(await scene.claim(agent, NOW + 100 * MINUTE)).toEqual([])
    expect(await scene.answer(await scene.run(agent, theirs))).toMatchObject({
      kind: 'recorded',
      sessionWaits: false,
    })
  })

  it('distinguishes end users with similar ids', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const ids = ['u', 'U', ' u', 'u"', '"endUserId":"u"', 'u\\', "u'", '%', 'ü', '😀', '{}']
    for (const id of ids)
      await scene.answer(await scene.run(agent, { sessionId: id, executionPrincipal: endUser(id) }))
    const reversed = JSON.parse('{"endUserId":"u","type":"end_user"}') as ExecutionPrincipal
    await scene.answer(
      await scene.run(agent, { sessionId: 'reversed', executionPrincipal: reversed }),
    )
    for (const id of ids) {
      expect(await messagesOf(storage, agent, { endUserId: id, countOnly: true }), id).toEqual([
        id === 'u' ? 2 : 1,
        0,
      ])
    }
  })

  it('erases deliveries of their events in any state with attempts and event, and refuses a late result', async ({
    storage,
    scene,
  }) => {
    const { deliveries } = storage
    const agent = await scene.agent()
    await scene.webhook()
    await publishAnswers(scene, agent, ['u', 'v', 'u', 'u', 'v'])
    const claims = await deliveries.claim({
      ...CLAIM_ALL,
      limit: 2,
      now: NOW,
      until: NOW + LEASE_MS,
    })
    const [done, sending] = claims
    if (!done || !sending) throw new Error('nothing was due')
    const attempt = { startedAt: NOW, durationMs: 1, outcome: accepted() }
    const delivered = { kind: 'delivered', deliveredAt: NOW } as const
    await deliveries.recordAttempt({
      deliveryId: done.delivery.id,
      token: done.lease.token,
      attempt,
      state: delivered,
    })

    expect(await deliveriesOf(storage, { countOnly: true })).toBe(3)
    expect(await deliveriesOf(storage)).toBe(3)
    expect(await deliveriesOf(storage)).toBe(0)
    expect(await deliveries.get(PROJECT_ID, done.delivery.id)).toBeUndefined()
    const left = (await deliveries.list({ projectId: PROJECT_ID }, { limit: 9 })).data
    expect(left).toHaveLength(2)
    for (const { id } of left)
      expect((await deliveries.get(PROJECT_ID, id))?.body).toContain('"endUserId":"v"')
    await deliveriesOf(storage, { endUserId: 'v' })
    const late = {
      deliveryId: sending.delivery.id,
      token: sending.lease.token,
      attempt,
      state: delivered,
    }
    expect(await deliveries.recordAttempt(late)).toEqual({ kind: 'lease_lost' })
    expect(
      await deliveries.claim({ ...CLAIM_ALL, now: NOW + MINUTE, until: NOW + 2 * MINUTE }),
    ).toEqual([])
  })

  it('ignores metadata that names the end user, and events without a principal', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    await scene.publish(
      agent,
      answerOf(agent, endUser('v'), {
        endUserId: 'u',
        executionPrincipal: { type: 'end_user', endUserId: 'u' },
      }),
    )
    await scene.publish(
      agent,
      frozen(agent, {
        event: 'agent.error',
        data: { agentId: agent.id, error: { code: 'RUNTIME_ERROR', message: '"endUserId":"u"' } },
      }),
    )
    await scene.publish(agent, answerOf(agent, { type: 'service' }, { endUserId: 'u' }))
    expect(await deliveriesOf(storage)).toBe(0)
  })

  it('G6: erases nothing of another project or agent', async ({ storage, scene }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    await scene.webhook()
    await scene.answer(await scene.run(agent, theirs))
    await publishAnswers(scene, agent, ['u'])
    expect(await messagesOf(storage, other)).toEqual([0, 0])
    expect(await messagesOf(storage, { ...agent, projectId: OTHER_PROJECT_ID })).toEqual([0, 0])
    expect(await deliveriesOf(storage, { projectId: OTHER_PROJECT_ID })).toBe(0)
    expect([
      await messagesOf(storage, agent, { countOnly: true }),
      await deliveriesOf(storage, { countOnly: true }),
    ]).toEqual([[1, 0], 1])
  })

  it('leaves to the sweep what was erased with its session', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.cancel(await scene.send(agent, theirs))
    const session = { projectId: PROJECT_ID, agentId: agent.id, sessionId: 'session' }
    await storage.messages.erase(session)
    expect(await messagesOf(storage, agent, { force: true })).toEqual([0, 0])
  })

  it('goes on from the place where another process stopped, while others write', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    for (let i = 0; i < 8; i++)
      await scene.answer(await scene.run(agent, { sessionId: `${i}`, ...theirs }))
    const step = {
      projectId: PROJECT_ID,
      agentId: agent.id,
      endUserId: 'u',
      force: false,
      countOnly: false,
      now: NOW,
      limit: 3,
    }
    const first = await storage.messages.erasePrincipal({ ...step, after: 0 })
    const [rest, again] = await Promise.all([
      second.messages.erasePrincipal({ ...step, after: first.next ?? 0, limit: 100 }),
      storage.messages.erasePrincipal({ ...step, after: 0, limit: 100 }),
      ...['0', '9'].map((sessionId) => scene.send(agent, { sessionId, ...others })),
    ])
    expect(first.messages + rest.messages + again.messages).toBe(8)
    const { data } = await storage.messages.list(
      { projectId: PROJECT_ID, agentId: agent.id },
      { limit: 99 },
    )
    expect(data.map(({ executionPrincipal }) => executionPrincipal)).toEqual([
      endUser('v'),
      endUser('v'),
    ])
  })
}

const frozen = (agent: Agent, payload: EventPayload) => {
  const { name, body } = freezeEvent(payload, agent.id, agent.projectId, NOW)
  return { name, body }
}

function answerOf(agent: Agent, executionPrincipal: ExecutionPrincipal, metadata = {}) {
  const data = {
    messageId: agent.id,
    agentId: agent.id,
    sessionId: 'session',
    response: 'Hi',
    executionPrincipal,
    metadata,
    responseTimeMs: 1,
  }
  return frozen(agent, { event: 'message.responded', data })
}

async function publishAnswers(
  scene: Scene,
  agent: Agent,
  endUserIds: readonly string[],
): Promise<void> {
  for (const id of endUserIds) await scene.publish(agent, answerOf(agent, endUser(id)))
}
