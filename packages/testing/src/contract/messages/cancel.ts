import { expect } from 'vitest'
import { anEvent, newMessage } from '../../builders.js'
import { heldBy, MINUTE, NOW, OTHER_PROJECT_ID, refTo, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const CANCELLED = { kind: 'cancelled', cancelledAt: NOW } as const
const FAILED = {
  kind: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'it broke' },
  failedAt: NOW,
} as const

export function cancelSuite(it: StorageTest): void {
  it('cancels a queued message, and its session is idle again', async ({ scene }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent)
    expect(await scene.cancel(message)).toEqual({
      kind: 'cancelled',
      message: { ...message, state: CANCELLED },
      deliveries: [],
      skipped: [],
      sessionWaits: false,
    })
    expect(await scene.reread(message)).toEqual({ ...message, state: CANCELLED })
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
    expect((await scene.run(agent)).message.attempt).toBe(1)
  })

  it('G5: takes the lease from a run that it cancels, at once and for good', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(await scene.cancel(run.message)).toMatchObject({
      kind: 'cancelled',
      message: { attempt: 1 },
    })
    expect(await messages.extendLeases([heldBy(run)], NOW + MINUTE)).toEqual([run.message.id])
    expect(
      await messages.defer({
        ...heldBy(run),
        state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW },
      }),
    ).toBe('lease_lost')
    expect(await messages.rememberSession({ ...heldBy(run), sessionState: 'late' })).toBe(
      'lease_lost',
    )
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await scene.reread(run.message)).toMatchObject({ state: CANCELLED })
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
  })

  it('G2: of an answer and a cancellation that come at once, one counts', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    for (let i = 0; i < 10; i++) {
      const run = await scene.run(agent, { sessionId: `${i}` })
      const answer = {
        ...heldBy(run),
        state: { kind: 'responded', response: 'r', respondedAt: NOW, responseTimeMs: 1 },
        now: NOW,
      } as const
      const cancellation = {
        ...refTo(run.message),
        state: CANCELLED,
        outgoing: scene.outgoing(anEvent(agent)),
      }
      const [recorded, cancelled] = await Promise.all([
        storage.messages.recordRun(answer),
        second.messages.cancel(cancellation),
      ])
      const kept = (await scene.reread(run.message))?.state.kind
      expect([recorded.kind, cancelled?.kind]).toEqual(
        kept === 'responded' ? ['recorded', 'already_final'] : ['lease_lost', 'cancelled'],
      )
    }
  })

  it('cancels a deferred message: its callback comes too late, and the next one follows at once', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const next = await scene.send(agent)
    await storage.messages.defer({
      ...heldBy(run),
      state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE },
    })
    expect(await scene.cancel(run.message)).toMatchObject({ kind: 'cancelled', sessionWaits: true })
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect((await scene.claim(agent)).map(({ message }) => message.id)).toEqual([next.id])
  })

  it('G5: messages behind a cancelled head follow in their order, without the cancelled ones', async ({
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const [second, third, fourth, fifth] = [
      await scene.send(agent),
      await scene.send(agent),
      await scene.send(agent),
      await scene.send(agent),
    ]
    expect(await scene.cancel(third)).toMatchObject({ kind: 'cancelled', sessionWaits: true })
    expect(await scene.claim(agent)).toEqual([])
    await scene.cancel(second)
    expect(await scene.cancel(run.message)).toMatchObject({ sessionWaits: true })
    const [next] = await scene.claim(agent)
    expect(next?.message.id).toBe(fourth.id)
    expect(next && (await scene.answer(next))).toMatchObject({ sessionWaits: true })
    await scene.cancel(fifth)
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
    expect((await scene.run(agent)).message.attempt).toBe(1)
  })

  it('G5: an answer skips the cancelled messages behind it', async ({ scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const [cancelled, next] = [await scene.send(agent), await scene.send(agent)]
    await scene.cancel(cancelled)
    expect(await scene.answer(run)).toMatchObject({ sessionWaits: true })
    expect((await scene.claim(agent)).map(({ message }) => message.id)).toEqual([next.id])
  })

  it('a cancelled message leaves its room in the queue to others', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 2 })
    await scene.run(agent)
    const second = await scene.send(agent)
    await scene.send(agent)
    expect(await messages.accept(newMessage(agent))).toEqual({ kind: 'session_full' })
    await scene.cancel(second)
    expect(await messages.accept(newMessage(agent))).toMatchObject({ kind: 'created' })
    expect(await messages.accept(newMessage(agent))).toEqual({ kind: 'session_full' })
  })

  it('cancels once: a final message stays as it is and causes no second event', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const run = await scene.run(agent)
    await scene.answer(run)
    expect(await scene.cancel(run.message, scene.outgoing(anEvent(agent)))).toMatchObject({
      kind: 'already_final',
      message: { state: { kind: 'responded' } },
    })
    const other = await scene.send(agent)
    await scene.cancel(other, scene.outgoing(anEvent(agent)))
    expect(await scene.cancel(other, scene.outgoing(anEvent(agent)))).toEqual({
      kind: 'already_final',
      message: { ...other, state: CANCELLED },
    })
    expect(
      (await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data,
    ).toHaveLength(1)
  })

  it('G3: commits the event of a cancellation with it, and hands out the deliveries that are born claimed', async ({
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const outgoing = scene.outgoing(anEvent(agent), { until: NOW + MINUTE, except: new Set() })
    expect(await scene.cancel(await scene.send(agent), outgoing)).toMatchObject({
      deliveries: [{ delivery: { event: 'agent.started' } }],
    })
  })

  it('G6: neither cancels nor retries what is not there, or is of another project or agent', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const failed = await scene.run(agent)
    await messages.recordRun({ ...heldBy(failed), state: FAILED, now: NOW })
    const open = await scene.send(agent)
    for (const change of [
      { projectId: OTHER_PROJECT_ID },
      { agentId: (await scene.agent()).id },
      { messageId: UNKNOWN_ID },
    ]) {
      const outgoing = scene.outgoing(anEvent(agent))
      expect(
        await messages.cancel({ ...refTo(open), ...change, state: CANCELLED, outgoing }),
      ).toBeUndefined()
      expect(
        await messages.retry({ ...refTo(failed.message), ...change, now: NOW }),
      ).toBeUndefined()
    }
    expect(await scene.reread(open)).toEqual(open)
  })
}
