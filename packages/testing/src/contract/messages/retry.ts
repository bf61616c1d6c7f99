import { expect } from 'vitest'
import { newMessage } from '../../builders.js'
import { heldBy, LEASE_MS, MINUTE, NOW, refTo, SECOND } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const CANCELLED = { kind: 'cancelled', cancelledAt: NOW } as const
const FAILED = {
  kind: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'it broke' },
  failedAt: NOW,
} as const

export function retrySuite(it: StorageTest): void {
  it('retries a failed or cancelled message at the end of its session, with no attempts counted', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const failed = await scene.run(agent, {
      executionPrincipal: { type: 'end_user', endUserId: 'u' },
      metadata: { a: 1 },
    })
    await storage.messages.recordRun({ ...heldBy(failed), state: FAILED, now: NOW })
    const [waiting, cancelled] = [await scene.send(agent), await scene.send(agent)]
    await scene.cancel(cancelled)
    const queued = { kind: 'queued', notBefore: NOW + SECOND } as const
    const retried = { ...failed.message, attempt: 0, state: queued }
    expect(await storage.messages.retry({ ...refTo(failed.message), now: NOW + SECOND })).toEqual({
      kind: 'retried',
      message: retried,
    })
    expect(await storage.messages.retry({ ...refTo(cancelled), now: NOW + SECOND })).toMatchObject({
      kind: 'retried',
    })
    expect(await scene.reread(failed.message)).toEqual(retried)

    const order = []
    for (let turn = 0; turn < 3; turn++) {
      const [claim] = await scene.claim(agent, NOW + MINUTE)
      order.push([claim?.message.id, claim?.message.attempt])
      if (claim) await scene.answer(claim)
    }
    expect(order).toEqual([waiting, failed.message, cancelled].map(({ id }) => [id, 1]))
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
  })

  it('makes an idle session due with a retried message', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent)
    await scene.cancel(message)
    await messages.retry({ ...refTo(message), now: NOW })
    expect(await messages.accept(newMessage(agent, { claimUntil: NOW + LEASE_MS }))).toMatchObject({
      kind: 'created',
    })
    expect((await scene.claim(agent)).map((claim) => claim.message.id)).toEqual([message.id])
  })

  it('G2: refuses the answers of the runs before a retry, and attaches to the message by its key as before', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, { idempotencyKey: 'k' })
    await scene.cancel(run.message)
    await messages.retry({ ...refTo(run.message), now: NOW })
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    const [again] = await scene.claim(agent)
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(again?.lease.token).not.toBe(run.lease.token)
    expect(again && (await scene.answer(again))).toMatchObject({ kind: 'recorded' })
    const attached = await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))
    expect(attached).toMatchObject({
      kind: 'existing',
      message: { id: run.message.id, state: { kind: 'responded' } },
    })
  })

  it('a retried message has the turns that were answered since', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const failed = await scene.run(agent)
    await messages.recordRun({ ...heldBy(failed), state: FAILED, now: NOW })
    const meanwhile = await scene.run(agent)
    await scene.answer(meanwhile)
    await messages.retry({ ...refTo(failed.message), now: NOW })
    const turns = await messages.history({
      messageId: failed.message.id,
      maxTurns: 9,
      maxLength: 9_999,
    })
    expect(turns.map(({ messageId }) => messageId)).toEqual([meanwhile.message.id])
  })

  it('retries only a failed or cancelled message, once', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const queued = await scene.send(agent)
    for (const message of [run.message, queued]) {
      expect(await messages.retry({ ...refTo(message), now: NOW })).toEqual({
        kind: 'not_retryable',
      })
    }
    await scene.answer(run)
    expect(await messages.retry({ ...refTo(run.message), now: NOW })).toEqual({
      kind: 'not_retryable',
    })
    await scene.cancel(queued)
    expect(await messages.retry({ ...refTo(queued), now: NOW })).toMatchObject({ kind: 'retried' })
    expect(await messages.retry({ ...refTo(queued), now: NOW })).toEqual({ kind: 'not_retryable' })
  })

  it.for([0, 1])(
    'retries into a session that has room for one more behind %i',
    async (maxQueued, { storage, scene }) => {
      const agent = await scene.agent({ maxQueued })
      const [first, second] = [
        await scene.send(agent),
        maxQueued > 0 ? await scene.send(agent) : undefined,
      ]
      for (const message of [first, second]) if (message) await scene.cancel(message)
      for (let ahead = 0; ahead < maxQueued; ahead++) await scene.send(agent)
      expect(await storage.messages.retry({ ...refTo(first), now: NOW })).toMatchObject({
        kind: 'retried',
      })
      if (second)
        expect(await storage.messages.retry({ ...refTo(second), now: NOW })).toEqual({
          kind: 'session_full',
        })
    },
  )

  it('retries as a new message is accepted: with room in the session, and while the agent runs', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const message = await scene.send(agent)
    await scene.cancel(message)
    const run = await scene.run(agent)
    expect(await storage.messages.retry({ ...refTo(message), now: NOW })).toEqual({
      kind: 'session_full',
    })
    await scene.answer(run)
    await storage.agents.changeState({
      agentId: agent.id,
      from: 'running',
      to: { kind: 'stopping' },
    })
    expect(await storage.messages.retry({ ...refTo(message), now: NOW })).toEqual({
      kind: 'agent_not_running',
    })
    expect(await scene.reread(message)).toEqual({ ...message, state: CANCELLED })
  })
}
