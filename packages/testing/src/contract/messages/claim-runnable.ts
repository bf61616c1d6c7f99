import { expect } from 'vitest'
import { newMessage } from '../../builders.js'
import { heldBy, LEASE_MS, NOW, SECOND } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

export function claimRunnableSuite(it: StorageTest): void {
  it('claims a queued message: one attempt more, running, under a lease', async ({ scene }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent)
    const [claimed] = await scene.claim(agent, NOW + 5)
    expect(claimed).toMatchObject({
      message: { id: message.id, attempt: 1, state: { kind: 'running', startedAt: NOW + 5 } },
      lease: { until: NOW + 5 + LEASE_MS },
    })
    expect(claimed?.lost).toBeUndefined()
    expect(await scene.reread(message)).toEqual(claimed?.message)
  })

  it('hands out nothing twice while a lease lasts', async ({ scene }) => {
    const agent = await scene.agent()
    await scene.send(agent)
    expect(await scene.claim(agent, NOW)).toHaveLength(1)
    expect(await scene.claim(agent, NOW)).toEqual([])
    expect(await scene.claim(agent, NOW + LEASE_MS - 1)).toEqual([])
  })

  it('claims a run again when its process let the lease end, and says that it was lost', async ({
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.run(agent)
    const [again] = await scene.claim(agent, NOW + LEASE_MS)
    expect(again).toMatchObject({
      lost: 'running',
      message: { attempt: 2, state: { kind: 'running', startedAt: NOW + LEASE_MS } },
    })
    const [third] = await scene.claim(agent, NOW + 2 * LEASE_MS)
    expect(third).toMatchObject({ lost: 'running', message: { attempt: 3 } })
  })

  it('counts no attempt beyond the agent’s maxAttempts, and says that none is left', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxAttempts: 2 })
    const runs = [await scene.run(agent)]
    for (const turn of [1, 2, 3]) runs.push(...(await scene.claim(agent, NOW + turn * LEASE_MS)))
    expect(runs.map(({ message, isExhausted }) => [message.attempt, isExhausted])).toEqual([
      [1, undefined],
      [2, undefined],
      [2, true],
      [2, true],
    ])
    const last = runs.at(-1)
    expect(last).toMatchObject({ lost: 'running' })
    expect(await scene.reread(last?.message ?? newMessage(agent))).toMatchObject({ attempt: 2 })
    const error = { code: 'RUNTIME_LOST', message: 'the process that ran it ended' } as const
    const state = { kind: 'failed', error, failedAt: NOW } as const
    for (const [index, run] of runs.entries())
      expect(await messages.recordRun({ ...heldBy(run), state, now: NOW })).toMatchObject(
        index < 3 ? { kind: 'lease_lost' } : { kind: 'recorded', message: { attempt: 2, state } },
      )
  })

  it('waits for the end of a backoff, and calls nothing lost then', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const state = { kind: 'queued', notBefore: NOW + 5 * SECOND } as const
    expect(await messages.recordRun({ ...heldBy(run), state, now: NOW })).toMatchObject({
      message: { state, attempt: 1 },
    })
    expect(await scene.claim(agent, NOW + 5 * SECOND - 1)).toEqual([])
    const [again] = await scene.claim(agent, NOW + 5 * SECOND)
    expect(again?.message.attempt).toBe(2)
    expect(again?.lost).toBeUndefined()
  })

  it('claims only for the agents that are asked for, and at most what each has free', async ({
    storage: { messages },
    scene,
  }) => {
    const agents = [await scene.agent(), await scene.agent(), await scene.agent()] as const
    for (const agent of agents)
      for (const sessionId of ['a', 'b', 'c']) await scene.send(agent, { sessionId })
    const lanes = [
      { agentId: agents[0].id, free: 2 },
      { agentId: agents[1].id, free: 5 },
    ]
    const claimed = await messages.claimRunnable({ lanes, now: NOW, until: NOW + LEASE_MS })
    const countOf = (agentId: string) =>
      claimed.filter(({ message }) => message.agentId === agentId).length
    expect(agents.map(({ id }) => countOf(id))).toEqual([2, 3, 0])
  })

  it('claims the session that is due for longest first', async ({ scene }) => {
    const agent = await scene.agent()
    for (const [sessionId, now] of [
      ['b', NOW + 2],
      ['c', NOW + 3],
      ['a', NOW + 1],
    ] as const)
      await scene.send(agent, { sessionId, now })
    const order = []
    for (let turn = 0; turn < 3; turn++)
      order.push((await scene.claim(agent, NOW + SECOND, 1))[0]?.message.sessionId)
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('claims nothing without lanes, without free slots or without work', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    expect(await scene.claim(agent)).toEqual([])
    await scene.send(agent)
    expect(await messages.claimRunnable({ lanes: [], now: NOW, until: NOW + LEASE_MS })).toEqual([])
    expect(await scene.claim(agent, NOW, 0)).toEqual([])
    expect(await scene.claim(agent)).toHaveLength(1)
  })

  it('no two instances get the same run', async ({ storage, second, scene }) => {
    const agent = await scene.agent()
    for (let session = 0; session < 40; session++)
      await scene.send(agent, { sessionId: `session ${session}` })
    const claims = Array.from({ length: 10 }, (_, i) => {
      const query = { lanes: [{ agentId: agent.id, free: 7 }], now: NOW, until: NOW + LEASE_MS }
      return (i % 2 ? storage : second).messages.claimRunnable(query)
    })
    const ids = (await Promise.all(claims)).flat().map(({ message }) => message.id)
    expect(ids).toHaveLength(40)
    expect(new Set(ids).size).toBe(40)
  })

  it('gives all that a run needs', async ({ scene }) => {
    const agent = await scene.agent()
    const given = {
      metadata: { source: 'test' },
      executionPrincipal: { type: 'end_user', endUserId: 'u' },
      message: 'What is new?',
      trace: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    } as const
    await scene.send(agent, newMessage(agent, given))
    const [claimed] = await scene.claim(agent)
    expect(claimed?.message).toMatchObject({
      ...given,
      projectId: agent.projectId,
      agentId: agent.id,
      sessionId: 'session',
    })
  })
}
