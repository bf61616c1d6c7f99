import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { ClaimedMessage } from '@org/agent-messaging-core/storage'
import { heldBy, LEASE_MS, MINUTE, NOW, SECOND, UNKNOWN_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const deferred = { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE } as const

export function leasesSuite(it: StorageTest): void {
  it('extends the leases that hold, as often as asked', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const runs = [
      await scene.run(agent, { sessionId: 'a' }),
      await scene.run(agent, { sessionId: 'b' }),
    ]
    for (const beat of [1, 2, 3])
      expect(await messages.extendLeases(runs.map(heldBy), NOW + beat * LEASE_MS)).toEqual([])
    expect(await scene.claim(agent, NOW + 3 * LEASE_MS - 1)).toEqual([])
    expect(await scene.claim(agent, NOW + 3 * LEASE_MS)).toHaveLength(2)
  })

  it('extends a lease after its end, until the next claim of the run', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(await messages.extendLeases([heldBy(run)], NOW + 5 * LEASE_MS)).toEqual([])
    expect(await scene.claim(agent, NOW + 5 * LEASE_MS - 1)).toEqual([])
  })

  it('names the runs whose lease is lost, and extends none of them', async ({ storage, scene }) => {
    const { agent, lost, holding } = await createLostRuns(storage, scene)
    const held = [...lost, holding].map(heldBy)
    const answered = await storage.messages.extendLeases(
      [...held, { messageId: UNKNOWN_ID, token: 1 }],
      NOW + 9 * MINUTE,
    )
    expect([...answered].sort()).toEqual(
      [...lost.map(({ message }) => message.id), UNKNOWN_ID].sort(),
    )
    const claimed = await scene.claim(agent, NOW + 5 * MINUTE)
    expect(claimed.map(({ message }) => message.sessionId).sort()).toEqual([
      'deferred',
      'requeued',
      'superseded',
    ])
  })

  it('names a run that was superseded beside the one that superseded it', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const superseded = await scene.run(agent)
    const [run] = (await scene.claim(agent, NOW + LEASE_MS)) as [ClaimedMessage]
    expect(await messages.extendLeases([superseded, run].map(heldBy), NOW + 9 * MINUTE)).toEqual([
      run.message.id,
    ])
    expect(await scene.claim(agent, NOW + 9 * MINUTE - 1)).toEqual([])
  })

  it('has nothing to say about no leases', async ({ storage: { messages } }) => {
    expect(await messages.extendLeases([], NOW + LEASE_MS)).toEqual([])
  })

  it('takes the answer of a deferred run, with the token that it was claimed with', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(await messages.defer({ ...heldBy(run), state: deferred })).toBe('deferred')
    expect(await scene.reread(run.message)).toEqual({ ...run.message, state: deferred })
    expect(await scene.answer(run, NOW + SECOND)).toMatchObject({
      kind: 'recorded',
      message: { attempt: 1, state: { kind: 'responded' } },
    })
  })

  it('accepts the answer after the deadline, until the next claim of the run', async ({
    storage: { messages },
    scene,
  }) => {
    const run = await scene.run(await scene.agent())
    await messages.defer({ ...heldBy(run), state: deferred })
    expect(await scene.answer(run, NOW + 2 * MINUTE)).toMatchObject({ kind: 'recorded' })
  })

  it('claims a run whose callback never came, says so, and refuses the callback from then on', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await messages.defer({ ...heldBy(run), state: deferred })
    const [again] = await scene.claim(agent, NOW + MINUTE)
    expect(again).toMatchObject({
      lost: 'deferred',
      message: {
        id: run.message.id,
        attempt: 2,
        state: { kind: 'running', startedAt: NOW + MINUTE },
      },
    })
    expect(await scene.answer(run, NOW + MINUTE)).toEqual({ kind: 'lease_lost' })
  })

  it('repeats a deferral, as after a lost answer', async ({ storage: { messages }, scene }) => {
    const run = await scene.run(await scene.agent())
    await messages.defer({ ...heldBy(run), state: deferred })
    expect(await messages.defer({ ...heldBy(run), state: deferred })).toBe('deferred')
    expect(await scene.answer(run)).toMatchObject({ kind: 'recorded' })
  })

  it('refuses to defer a run after its answer or another claim', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const answered = await scene.run(agent, { sessionId: 'a' })
    await scene.answer(answered)
    expect(await messages.defer({ ...heldBy(answered), state: deferred })).toBe('lease_lost')
    const superseded = await scene.run(agent, { sessionId: 'b' })
    await scene.claim(agent, NOW + LEASE_MS)
    expect(await messages.defer({ ...heldBy(superseded), state: deferred })).toBe('lease_lost')
  })
}

/**
 * One run that still holds its lease, and one for each way to lose it; each in the session of that
 * name.
 */
async function createLostRuns(
  { messages }: UnwrappedStorage,
  scene: Scene,
): Promise<{ agent: Agent; lost: ClaimedMessage[]; holding: ClaimedMessage }> {
  const agent = await scene.agent()
  const superseded = await scene.run(agent, { sessionId: 'superseded' })
  await scene.claim(agent, NOW + LEASE_MS)
  const final = await scene.run(agent, { sessionId: 'final' })
  await scene.answer(final)
  const requeued = await scene.run(agent, { sessionId: 'requeued' })
  await messages.recordRun({
    ...heldBy(requeued),
    state: { kind: 'queued', notBefore: NOW },
    now: NOW,
  })
  const late = await scene.run(agent, { sessionId: 'deferred' })
  await messages.defer({ ...heldBy(late), state: deferred })
  return {
    agent,
    lost: [superseded, final, requeued, late],
    holding: await scene.run(agent, { sessionId: 'holding' }),
  }
}
