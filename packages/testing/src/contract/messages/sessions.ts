import { expect } from 'vitest'
import type { Agent, Message } from '@org/agent-messaging-core'
import type { PageOf } from '@org/agent-messaging-core/storage'
import { newMessage } from '../../builders.js'
import { heldBy, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, refTo, SECOND } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

export function sessionsSuite(it: StorageTest): void {
  it('lists the sessions of an agent, the one with the newest message first', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.send(await scene.agent(), { sessionId: 'of another agent' })
    await scene.answer(await scene.run(agent, { sessionId: 'idle' }))
    const [second] = [
      await scene.send(agent, { sessionId: 'busy' }),
      await scene.send(agent, { sessionId: 'other', now: NOW + 1 }),
    ]
    const third = await scene.send(agent, { sessionId: 'busy', now: NOW + 2 })
    await scene.cancel(second)
    const { data, nextCursor } = await messages.listSessions(agentRef(agent), { limit: 10 })
    expect(data.map(({ sessionId, openCount }) => [sessionId, openCount])).toEqual([
      ['busy', 1],
      ['other', 1],
      ['idle', 0],
    ])
    expect(data[0]).toEqual({
      sessionId: 'busy',
      openCount: 1,
      lastMessageId: third.id,
      lastMessageAt: NOW + 2,
    })
    expect(nextCursor).toBeNull()
    expect(
      await messages.listSessions(
        { ...agentRef(agent), projectId: OTHER_PROJECT_ID },
        { limit: 10 },
      ),
    ).toEqual({
      data: [],
      nextCursor: null,
    })
  })

  it('returns the newest existing message after purges and retries', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent)
    const [retried, kept, newest] = [
      await scene.send(agent),
      await scene.send(agent, { now: NOW + 1 }),
      await scene.send(agent, { now: NOW + 2 }),
    ]
    await scene.cancel(newest)
    await scene.answer(first, NOW + MINUTE)
    await scene.cancel(retried)
    await messages.retry({ ...refTo(retried), now: NOW })
    expect(await messages.purge({ finishedBefore: NOW + 3, limit: 10, now: NOW })).toMatchObject({
      removed: 1,
    })
    const summary = {
      sessionId: kept.sessionId,
      openCount: 2,
      lastMessageId: kept.id,
      lastMessageAt: NOW + 1,
    }
    expect((await messages.listSessions(agentRef(agent), { limit: 10 })).data).toEqual([summary])
  })

  it('gives the sessions page by page', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    for (const sessionId of ['1', '2', '3']) await scene.send(agent, { sessionId })
    const page = (of: PageOf) => messages.listSessions(agentRef(agent), of)
    const first = await page({ limit: 2 })
    expect(first.data.map(({ sessionId }) => sessionId)).toEqual(['3', '2'])
    expect(first.nextCursor).toBe(first.data[1]?.lastMessageId)
    const second = await page({ limit: 2, cursor: first.nextCursor ?? '' })
    expect([second.data.map(({ sessionId }) => sessionId), second.nextCursor]).toEqual([
      ['1'],
      null,
    ])
  })

  it('lists the messages of a session in order, either way, a retried one at its new place', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const sent: Message[] = []
    for (let i = 0; i < 4; i++) sent.push(await scene.send(agent))
    await scene.send(agent, { sessionId: 'another' })
    const [one, two, three, four] = sent.map(({ id }) => id)
    if (sent[1]) await scene.cancel(sent[1])
    if (sent[1]) await messages.retry({ ...refTo(sent[1]), now: NOW })

    for (const [order, expected] of [
      ['asc', [one, three, four, two]],
      ['desc', [two, four, three, one]],
    ] as const) {
      const filter = { ...agentRef(agent), sessionId: 'session', order }
      const list = async (page: PageOf) =>
        (await messages.list(filter, page)).data.map(({ id }) => id)
      expect(await list({ limit: 9 })).toEqual(expected)
      for (const [index, id] of expected.entries())
        expect(await list({ limit: 9, cursor: id ?? '' })).toEqual(expected.slice(index + 1))
      const first = await messages.list(filter, { limit: 2 })
      expect(first.nextCursor).toBe(expected[1])
    }
  })

  it('lists the messages of an agent oldest first, too', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const ids = [
      await scene.send(agent, { sessionId: 'a' }),
      await scene.send(agent, { sessionId: 'b' }),
    ].map(({ id }) => id)
    const list = async (page: PageOf) =>
      (await messages.list({ ...agentRef(agent), order: 'asc' }, page)).data.map(({ id }) => id)
    expect(await list({ limit: 9 })).toEqual(ids)
    expect(await list({ limit: 9, cursor: ids[0] ?? '' })).toEqual(ids.slice(1))
    expect(await list({ limit: 9, cursor: ids[1] ?? '' })).toEqual([])
  })

  it('erases an idle session whole, and it begins afresh', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, { idempotencyKey: 'k' })
    await messages.rememberSession({ ...heldBy(run), sessionState: 'past' })
    await scene.answer(run)
    const other = await scene.send(agent, { sessionId: 'other' })
    expect(await messages.erase(session(agent))).toBe('erased')

    expect(await scene.reread(run.message)).toBeUndefined()
    expect(await messages.getHeld(run.message.id)).toBeUndefined()
    expect(await messages.find([run.message.id])).toEqual([])
    expect(await messages.findSettled([run.message.id])).toEqual([])
    expect((await messages.list(agentRef(agent), { limit: 9 })).data).toEqual([other])
    expect(
      (await messages.listSessions(agentRef(agent), { limit: 9 })).data.map(
        ({ sessionId }) => sessionId,
      ),
    ).toEqual(['other'])
    expect(await messages.erase(session(agent))).toBeUndefined()

    const afresh = await scene.run(agent, { idempotencyKey: 'k' })
    expect(afresh.sessionState).toBeUndefined()
    expect(
      await messages.history({ messageId: afresh.message.id, maxTurns: 9, maxLength: 9_999 }),
    ).toEqual([])
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await scene.answer(afresh)).toMatchObject({ kind: 'recorded', sessionWaits: false })
  })

  it('does not erase a session with open messages, and after it a late run has lost its lease', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const queued = await scene.send(agent)
    expect(await messages.erase(session(agent))).toBe('busy')
    expect(await scene.reread(queued)).toEqual(queued)
    await scene.cancel(run.message)
    expect(await messages.erase(session(agent))).toBe('busy')
    await scene.cancel(queued)
    expect(await messages.erase(session(agent))).toBe('erased')
    expect(await messages.extendLeases([heldBy(run)], NOW + MINUTE)).toEqual([run.message.id])
    expect(
      await messages.defer({
        ...heldBy(run),
        state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW },
      }),
    ).toBe('lease_lost')
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
    const outgoing = scene.outgoing({
      id: run.message.id,
      projectId: agent.projectId,
      name: 'agent.error',
      body: '',
      createdAt: NOW,
    })
    expect(
      await messages.cancel({
        ...refTo(queued),
        state: { kind: 'cancelled', cancelledAt: NOW },
        outgoing,
      }),
    ).toBeUndefined()
    expect(await messages.retry({ ...refTo(queued), now: NOW })).toBeUndefined()
  })

  it('erases a session with messages that were cancelled or failed, which are not open', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.cancel(await scene.send(agent))
    expect(await messages.erase(session(agent))).toBe('erased')
  })

  it('G6: erases no session of another project or agent', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await scene.answer(run)
    expect(await messages.erase({ ...session(agent), projectId: OTHER_PROJECT_ID })).toBeUndefined()
    expect(await messages.erase(session(await scene.agent()))).toBeUndefined()
    expect(await messages.erase({ ...session(agent), sessionId: 'SESSION' })).toBeUndefined()
    expect(await scene.reread(run.message)).toMatchObject({ state: { kind: 'responded' } })
  })

  it('frees the space of erased rows in small steps, and touches nothing else', async ({
    storage,
    scene,
  }) => {
    const { messages, agents } = storage
    const [agent, deleted] = [await scene.agent(), await scene.agent()]
    for (const of of [agent, deleted])
      for (let i = 0; i < 5; i++) {
        const sent = await scene.send(of, { sessionId: `${i % 2}`, idempotencyKey: `${i}` })
        if (of === deleted || sent.sessionId === '0') await scene.cancel(sent)
      }
    await messages.erase({ ...session(agent), sessionId: '0' })
    await agents.delete(deleted.projectId, deleted.id)
    const afresh = await scene.send(agent, {
      sessionId: '0',
      idempotencyKey: '0',
      now: NOW + SECOND,
    })
    const counts: number[] = []
    do counts.push(await messages.sweep({ limit: 2, now: NOW }))
    while (counts.at(-1))
    expect(Math.max(...counts)).toBeLessThanOrEqual(2)
    expect(await messages.sweep({ limit: 2, now: NOW })).toBe(0)

    const left = (await messages.list({ ...agentRef(agent), order: 'asc' }, { limit: 9 })).data
    expect(left.map(({ sessionId }) => sessionId)).toEqual(['1', '1', '0'])
    expect(await messages.accept(newMessage(agent, { idempotencyKey: '0' }))).toMatchObject({
      kind: 'existing',
      message: afresh,
    })
    const claimed = await scene.claim(agent, NOW + LEASE_MS)
    expect(new Set(claimed.map(({ message }) => message.id))).toEqual(
      new Set([left[0]?.id, afresh.id]),
    )
  })
}

const agentRef = ({ projectId, id: agentId }: Agent) => ({ projectId, agentId })
const session = (agent: Agent) => ({ ...agentRef(agent), sessionId: 'session' })
