import { expect } from 'vitest'
import { anEvent, aWebhook } from '../../builders.js'
import { heldBy, LEASE_MS, MINUTE, NOW, SECOND, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const queued = { kind: 'queued', notBefore: NOW + SECOND } as const
const deferred = { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE } as const

export function fencingSuite(it: StorageTest): void {
  it('G5: refuses the answer of a run that was claimed again, with all that would come with it', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const late = await scene.run(agent)
    const [newer] = await scene.claim(agent, NOW + LEASE_MS)
    expect(await scene.answer(late, NOW + LEASE_MS, scene.outgoing(anEvent(agent)))).toEqual({
      kind: 'lease_lost',
    })
    expect(await scene.reread(late.message)).toEqual(newer?.message)
    expect(
      (await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data,
    ).toEqual([])
    expect(newer && (await scene.answer(newer, NOW + LEASE_MS))).toMatchObject({ kind: 'recorded' })
  })

  it('accepts an answer after the end of its lease, until the next claim of the run', async ({
    scene,
  }) => {
    const run = await scene.run(await scene.agent())
    expect(await scene.answer(run, NOW + 10 * LEASE_MS)).toMatchObject({
      kind: 'recorded',
      message: { state: { kind: 'responded' } },
    })
  })

  it('G2: takes one answer, and refuses every later one', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await scene.answer(run)
    const other = {
      kind: 'responded',
      response: 'another',
      respondedAt: NOW,
      responseTimeMs: 1,
    } as const
    expect(await messages.recordRun({ ...heldBy(run), state: other, now: NOW })).toEqual({
      kind: 'lease_lost',
    })
    expect(await scene.reread(run.message)).toMatchObject({
      state: { response: `answer to ${run.message.id}` },
    })
  })

  it('G2: takes one of many answers that come at once', async ({ storage, second, scene }) => {
    const run = await scene.run(await scene.agent())
    const records = Array.from({ length: 10 }, (_, i) => {
      const state = {
        kind: 'responded',
        response: `${i}`,
        respondedAt: NOW,
        responseTimeMs: 1,
      } as const
      return (i % 2 ? storage : second).messages.recordRun({ ...heldBy(run), state, now: NOW })
    })
    const kinds = (await Promise.all(records)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'recorded')).toHaveLength(1)
  })

  it('refuses a repeated record and makes no second event of it', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await storage.webhooks.create(aWebhook(), 10)
    const run = await scene.run(agent)
    const outgoing = scene.outgoing(anEvent(agent))
    expect(await scene.answer(run, NOW, outgoing)).toMatchObject({ kind: 'recorded' })
    expect(await scene.answer(run, NOW, outgoing)).toEqual({ kind: 'lease_lost' })
    expect(
      (await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data,
    ).toHaveLength(1)
  })

  it('a token ends with its run, and is refused for a retry of the message', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await messages.recordRun({ ...heldBy(run), state: queued, now: NOW })
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await messages.defer({ ...heldBy(run), state: deferred })).toBe('lease_lost')
    const [retry] = await scene.claim(agent, NOW + SECOND)
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(retry?.lease.token).not.toBe(run.lease.token)
  })

  it('a token is no good for the next message of its session', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const next = await scene.send(agent)
    await scene.answer(run)
    await scene.claim(agent)
    expect(
      await messages.recordRun({
        messageId: next.id,
        token: run.lease.token,
        state: queued,
        now: NOW,
      }),
    ).toEqual({
      kind: 'lease_lost',
    })
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
  })

  it('refuses what was never claimed', async ({ storage: { messages }, scene }) => {
    const { id } = await scene.send(await scene.agent())
    for (const messageId of [id, UNKNOWN_ID]) {
      for (const token of [0, 1, -1, Number.MAX_SAFE_INTEGER]) {
        expect(await messages.recordRun({ messageId, token, state: queued, now: NOW })).toEqual({
          kind: 'lease_lost',
        })
        expect(await messages.defer({ messageId, token, state: deferred })).toBe('lease_lost')
      }
    }
  })

  it('returns the message with its valid token to the holder of a run token', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(await messages.getHeld(run.message.id)).toEqual({
      message: run.message,
      token: run.lease.token,
    })
    await messages.defer({ ...heldBy(run), state: deferred })
    expect(await messages.getHeld(run.message.id)).toEqual({
      message: { ...run.message, state: deferred },
      token: run.lease.token,
    })
    const [again] = await scene.claim(agent, NOW + MINUTE)
    expect(await messages.getHeld(run.message.id)).toEqual({
      message: again?.message,
      token: again?.lease.token,
    })
    expect(await messages.getHeld(UNKNOWN_ID)).toBeUndefined()
  })
}
