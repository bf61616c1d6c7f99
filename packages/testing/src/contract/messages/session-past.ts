import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { Turn } from '@org/agent-messaging-core/runtime'
import type { ClaimedMessage, NewMessage } from '@org/agent-messaging-core/storage'
import { heldBy, LEASE_MS, MINUTE, NOW, UNKNOWN_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const ALL = { maxTurns: 100, maxLength: 1_000_000 }
const ERROR = { code: 'RUNTIME_ERROR', message: 'it broke' } as const

export function sessionPastSuite(it: StorageTest): void {
  it('gives a run the answered turns of its session, oldest first', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const past = [
      await answered(scene, agent),
      await answered(scene, agent, { executionPrincipal: { type: 'end_user', endUserId: 'u 1' } }),
    ]
    await answered(scene, agent, { sessionId: 'another' })
    await answered(scene, await scene.agent())
    const { message } = await scene.run(agent)
    expect(await messages.history({ messageId: message.id, ...ALL })).toEqual(past)
    expect(await messages.history({ messageId: past[1]?.messageId ?? '', ...ALL })).toEqual(
      past.slice(0, 1),
    )
    expect(await messages.history({ messageId: UNKNOWN_ID, ...ALL })).toEqual([])
  })

  it('leaves out messages without an answer, and later ones', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const past = await answered(scene, agent)
    const failed = await scene.run(agent)
    await messages.recordRun({
      ...heldBy(failed),
      state: { kind: 'failed', error: ERROR, failedAt: NOW },
      now: NOW,
    })
    const { message } = await scene.run(agent)
    await scene.send(agent)
    expect(await messages.history({ messageId: message.id, ...ALL })).toEqual([past])
  })

  it('gives the newest turns that fit', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const past = [
      await answered(scene, agent),
      await answered(scene, agent),
      await answered(scene, agent),
    ]
    const { message } = await scene.run(agent)
    const history = (limit: Partial<typeof ALL>) =>
      messages.history({ messageId: message.id, ...ALL, ...limit })
    expect(await history({ maxTurns: 2 })).toEqual(past.slice(1))
    const lengths = past.map((turn) => turn.message.length + turn.response.length)
    expect(await history({ maxLength: (lengths[1] ?? 0) + (lengths[2] ?? 0) })).toEqual(
      past.slice(1),
    )
    expect(await history({ maxLength: (lengths[1] ?? 0) + (lengths[2] ?? 0) - 1 })).toEqual(
      past.slice(2),
    )
  })

  it('gives a run the turns that senders brought along, each before its message', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const brought = (name: string) => ({ message: `${name}?`, response: `${name} é` })
    const first = await answered(scene, agent, { earlierTurns: [brought('a'), brought('b')] })
    const failed = await scene.run(agent, { earlierTurns: [brought('c')] })
    await messages.recordRun({
      ...heldBy(failed),
      state: { kind: 'failed', error: ERROR, failedAt: NOW },
      now: NOW,
    })
    const { message } = await scene.run(agent, { earlierTurns: [brought('d')] })
    const history = async (limit: Partial<typeof ALL>) =>
      (await messages.history({ messageId: message.id, ...ALL, ...limit })).map((turn) => [
        turn.messageId,
        turn.response,
      ])
    const all = [
      [first.messageId, 'a é'],
      [first.messageId, 'b é'],
      [first.messageId, first.response],
      [failed.message.id, 'c é'],
      [message.id, 'd é'],
    ]
    expect(await history({})).toEqual(all)
    expect(await history({ maxTurns: 3 })).toEqual(all.slice(2))
    expect(await history({ maxLength: 10 })).toEqual(all.slice(3))
  })

  it("hands a run's state to the next runs of its session, in any process", async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(run.sessionState).toBeUndefined()
    expect(await storage.messages.rememberSession({ ...heldBy(run), sessionState: 'first' })).toBe(
      'remembered',
    )
    expect(
      await storage.messages.rememberSession({ ...heldBy(run), sessionState: 'thread 1 é' }),
    ).toBe('remembered')
    await scene.answer(run)

    const born = await scene.run(agent)
    expect(born.sessionState).toBe('thread 1 é')
    const lanes = [{ agentId: agent.id, free: 1 }]
    const [again] = await second.messages.claimRunnable({
      lanes,
      now: NOW + LEASE_MS,
      until: NOW + MINUTE,
    })
    expect(again?.sessionState).toBe('thread 1 é')
    expect((await scene.run(agent, { sessionId: 'another' })).sessionState).toBeUndefined()
    expect((await scene.run(await scene.agent())).sessionState).toBeUndefined()
  })

  it('keeps an empty memory apart from none', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await messages.rememberSession({ ...heldBy(run), sessionState: '' })
    await scene.answer(run)
    expect((await scene.run(agent)).sessionState).toBe('')
  })

  it('G5: refuses what a run wants to remember after it has lost its lease, or ended', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const [newer] = await scene.claim(agent, NOW + LEASE_MS)
    expect(await messages.rememberSession({ ...heldBy(run), sessionState: 'late' })).toBe(
      'lease_lost',
    )
    if (newer) await scene.answer(newer)
    expect(
      newer && (await messages.rememberSession({ ...heldBy(newer), sessionState: 'late' })),
    ).toBe('lease_lost')
    expect(
      await messages.rememberSession({ messageId: UNKNOWN_ID, token: 1, sessionState: 'late' }),
    ).toBe('lease_lost')
    expect((await scene.run(agent)).sessionState).toBeUndefined()
  })
}

/** A message and its answer, as a turn of the past. */
async function answered(
  scene: Scene,
  agent: Agent,
  message: Partial<NewMessage> = {},
): Promise<Turn> {
  const claimed: ClaimedMessage = await scene.run(agent, message)
  await scene.answer(claimed)
  const { id, message: text, executionPrincipal } = claimed.message
  return { messageId: id, message: text, response: `answer to ${id}`, executionPrincipal }
}
