import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { RunError } from '@org/agent-messaging-core/runtime'
import { newMessage } from '../../builders.js'
import { heldBy, LEASE_MS, MINUTE, NOW, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const ERROR: RunError = { code: 'RUNTIME_ERROR', message: 'it broke' }

export function sessionOrderSuite(it: StorageTest): void {
  it('G5: hands out the messages of a session one at a time, in the order of acceptance', async ({
    scene,
  }) => {
    const agent = await scene.agent()
    const sent = []
    // Ids and times that say the contrary: order is the order of acceptance alone.
    for (const [index, id] of DESCENDING_IDS.entries())
      sent.push(await scene.send(agent, { id, now: NOW - index }))
    const order = []
    for (let turn = 0; turn < sent.length; turn++) {
      const claimed = await scene.claim(agent)
      expect(claimed).toHaveLength(1)
      order.push(claimed[0]?.message.id)
      for (const claim of claimed) await scene.answer(claim)
    }
    expect(order).toEqual(sent.map(({ id }) => id))
  })

  it('G5: a session with a run under way takes no second one, not even one that wants to be born running', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.run(agent)
    expect(await messages.accept(newMessage(agent, { claimUntil: NOW + LEASE_MS }))).toMatchObject({
      kind: 'created',
      message: { attempt: 0 },
    })
    expect(await scene.claim(agent)).toEqual([])
  })

  it('G5: a message does not overtake one that is queued', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const first = await scene.send(agent)
    expect(await messages.accept(newMessage(agent, { claimUntil: NOW + LEASE_MS }))).toMatchObject({
      kind: 'created',
    })
    expect(await claimedIds(scene, agent)).toEqual([first.id])
  })

  it('G5: a message that backs off holds up its session', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const next = await scene.send(agent)
    await messages.recordRun({
      ...heldBy(run),
      state: { kind: 'queued', notBefore: NOW + MINUTE },
      now: NOW,
    })
    expect(await messages.accept(newMessage(agent, { claimUntil: NOW + LEASE_MS }))).toMatchObject({
      kind: 'created',
    })
    expect(await scene.claim(agent, NOW + SECOND)).toEqual([])

    const [again] = await scene.claim(agent, NOW + MINUTE)
    expect(again?.message.id).toBe(run.message.id)
    if (again) await scene.answer(again, NOW + MINUTE)
    expect(await claimedIds(scene, agent, NOW + MINUTE)).toEqual([next.id])
  })

  it('G5: a deferred run holds up its session', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const next = await scene.send(agent)
    const state = { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE } as const
    await messages.defer({ ...heldBy(run), state })
    expect(await scene.claim(agent, NOW + MINUTE - 1)).toEqual([])
    expect(await messages.accept(newMessage(agent, { claimUntil: NOW + LEASE_MS }))).toMatchObject({
      kind: 'created',
    })
    await scene.answer(run, NOW + SECOND)
    expect(await claimedIds(scene, agent, NOW + SECOND)).toEqual([next.id])
  })

  it('G5: the next message follows a failed one at once', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const next = await scene.send(agent)
    await messages.recordRun({
      ...heldBy(run),
      state: { kind: 'failed', error: ERROR, failedAt: NOW },
      now: NOW,
    })
    expect(await claimedIds(scene, agent)).toEqual([next.id])
  })

  it('returns whether another message waits in the session of an ended one', async ({ scene }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent)
    await scene.send(agent)
    expect(await scene.answer(first)).toMatchObject({ kind: 'recorded', sessionWaits: true })
    const [second] = await scene.claim(agent)
    expect(second && (await scene.answer(second))).toMatchObject({
      kind: 'recorded',
      sessionWaits: false,
    })
  })

  it('is idle again after its last message, so that the next is born running', async ({
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.answer(await scene.run(agent))
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
    expect((await scene.run(agent)).message.attempt).toBe(1)
  })

  it('G6: a session that hangs holds up no other', async ({ scene }) => {
    const agent = await scene.agent()
    await scene.run(agent, { sessionId: 'hangs' })
    for (let i = 0; i < 5; i++) await scene.send(agent, { sessionId: 'hangs' })
    const other = await scene.send(agent, { sessionId: 'other' })
    expect(await claimedIds(scene, agent)).toEqual([other.id])
  })

  it('tells sessions apart by agent, and by every character of their id', async ({ scene }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    for (const sessionId of ['s', 'S', 's ', 'ß', 'ss']) await scene.run(agent, { sessionId })
    expect((await scene.run(other, { sessionId: 's' })).message.attempt).toBe(1)
  })
}

const DESCENDING_IDS = [3, 2, 1].map((n) => `00000000-000${n}-7abc-8000-000000000000`)

const claimedIds = async (scene: Scene, agent: Agent, now = NOW): Promise<string[]> =>
  (await scene.claim(agent, now)).map(({ message }) => message.id)
