import { unwrap } from '../../unwrap.js'
import { expect } from 'vitest'
import { newMessage } from '../../builders.js'
import { heldBy, NOW } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

export function instancesSuite(it: StorageTest): void {
  it('another instance reads a commit at once', async ({ storage, second, scene }) => {
    const agent = await scene.agent()
    expect(await second.agents.get(agent.projectId, agent.name)).toEqual(agent)
    const run = await scene.run(agent)
    expect(await second.messages.getHeld(run.message.id)).toEqual({
      message: run.message,
      token: run.lease.token,
    })
    const state = {
      kind: 'responded',
      response: 'from the other',
      respondedAt: NOW,
      responseTimeMs: 1,
    } as const
    expect(await second.messages.recordRun({ ...heldBy(run), state, now: NOW })).toMatchObject({
      kind: 'recorded',
    })
    expect((await storage.messages.findSettled([run.message.id]))[0]?.state).toEqual(state)
  })

  it('G5: an instance does not start a second run in a session that another one runs', async ({
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.run(agent)
    expect(await second.messages.accept(newMessage(agent, { claimUntil: NOW + 1 }))).toMatchObject({
      kind: 'created',
    })
  })

  it('G5: of many sends that want to be born running in one session, one is', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const sends = Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? storage : second).messages.accept(newMessage(agent, { claimUntil: NOW + 1 })),
    )
    const kinds = (await Promise.all(sends)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'claimed')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'created')).toHaveLength(19)
  })

  it('works when it is asked whether it does', async ({ opened }) => {
    expect((await opened.storage.ping()).ok).toBe(true)
  })

  it('G1: a write under way when it closes is made, and later calls are Unavailable', async ({
    instances: [storage, second],
    scene,
  }) => {
    const agent = await scene.agent()
    const last = newMessage(agent)
    const accepting = storage.messages.accept(last)
    await storage.close()
    expect((await accepting).ok).toBe(true)
    const later = await storage.messages.accept(newMessage(agent))
    expect(!later.ok && later.error.kind).toBe('unavailable')
    expect(!(await storage.ping()).ok).toBe(true)
    if (second === undefined) return
    const found = await second.messages.get({
      projectId: agent.projectId,
      agentId: agent.id,
      messageId: last.id,
    })
    expect(unwrap(found)).toMatchObject({ id: last.id })
  })
}
