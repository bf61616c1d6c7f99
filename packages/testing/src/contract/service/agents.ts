import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { Sealed } from '@org/agent-messaging-core/storage'
import { anAgent, newMessage, PROJECT_ID } from '../../builders.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, UNKNOWN_ID, heldBy } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const FULL: Partial<Agent> = {
  defaultExecutionPrincipal: { type: 'end_user', endUserId: 'user 1' },
  runtime: {
    kind: 'http',
    options: { url: 'https://agent.example', deep: { list: [1, null, 'é'] } },
    secrets: 'v1.sealed' as Sealed,
  },
  desiredState: 'stopped',
  state: {
    kind: 'error',
    lastError: { code: 'RUNTIME_EXITED', message: 'gone' },
    failures: 2,
    retryAt: NOW + MINUTE,
  },
  a2a: {
    enabled: true,
    description: 'é',
    skills: [{ id: 'a', name: 'A', description: 'b', tags: [], examples: ['c'] }],
  },
  ...{ concurrency: 3, maxAttempts: 1, maxQueued: 0, createdAt: NOW + 1, updatedAt: NOW + 2 },
}

const STOPPED = { desiredState: 'stopped', state: { kind: 'stopped' } } as const

export function agentsSuite(it: StorageTest): void {
  it('keeps an agent and reads it back whole, by id and by name', async ({
    storage: { agents },
  }) => {
    for (const agent of [
      anAgent(FULL),
      anAgent({
        state: {
          kind: 'error',
          lastError: { code: 'RUNTIME_UNHEALTHY', message: 'no' },
          failures: 10,
        },
      }),
      anAgent(),
      anAgent({ defaultExecutionPrincipal: { type: 'end_user' }, state: { kind: 'starting' } }),
    ]) {
      expect(await agents.create(agent, 1_000)).toBe('created')
      expect(await agents.get(PROJECT_ID, agent.id)).toEqual(agent)
      expect(await agents.get(PROJECT_ID, agent.name)).toEqual(agent)
    }
    expect(await agents.get(PROJECT_ID, UNKNOWN_ID)).toBeUndefined()
    expect(await agents.get(PROJECT_ID, 'nobody')).toBeUndefined()
  })

  it('refuses a second agent of one name, but not the same one again', async ({
    storage: { agents },
  }) => {
    const agent = anAgent({ name: 'echo' })
    expect(await agents.create(agent, 1_000)).toBe('created')
    expect(await agents.create(agent, 1_000)).toBe('created')
    expect(await agents.create(anAgent({ name: 'echo' }), 1_000)).toBe('name_taken')
    expect((await agents.list(PROJECT_ID, { limit: 10 })).data).toEqual([agent])
  })

  it('limits the agents of a project, counts a repeated creation once, and frees the place of a deleted agent', async ({
    storage: { agents },
  }) => {
    const [first, last] = [anAgent(), anAgent()]
    expect(await agents.create(first, 2)).toBe('created')
    expect(await agents.create(last, 2)).toBe('created')
    expect(await agents.create(last, 2)).toBe('created')
    expect(await agents.create(anAgent(), 2)).toBe('limit_reached')
    expect(await agents.create(anAgent({ projectId: OTHER_PROJECT_ID }), 2)).toBe('created')
    await agents.delete(PROJECT_ID, first.id)
    expect(await agents.create(anAgent(), 2)).toBe('created')
    expect((await agents.list(PROJECT_ID, { limit: 10 })).data).toHaveLength(2)
  })

  it('keeps the limit when many are created at once', async ({ storage, second }) => {
    const creates = Array.from({ length: 10 }, (_, i) =>
      (i % 2 ? storage : second).agents.create(anAgent(), 3),
    )
    expect((await Promise.all(creates)).filter((answer) => answer === 'created')).toHaveLength(3)
  })

  it('a creation that is repeated late undoes no change', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent()
    const changed = await agents.update(PROJECT_ID, agent.id, { maxQueued: 7, updatedAt: NOW + 5 })
    expect(await agents.create(agent, 1_000)).toBe('created')
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual(changed)
  })

  it('changes what it is told and leaves the rest', async ({ storage: { agents }, scene }) => {
    const agent = await scene.agent(STOPPED)
    const change = {
      name: 'renamed',
      runtime: { kind: 'http', options: { url: 'https://new.example' } },
      maxQueued: 7,
      a2a: { enabled: true },
      updatedAt: NOW + 5,
    }
    expect(await agents.update(PROJECT_ID, agent.id, change)).toEqual({ ...agent, ...change })
    expect(await agents.get(PROJECT_ID, 'renamed')).toEqual({ ...agent, ...change })
    expect(await agents.get(PROJECT_ID, agent.name)).toBeUndefined()
    expect(await agents.update(PROJECT_ID, UNKNOWN_ID, change)).toBeUndefined()
  })

  it('does not change the runtime of an agent that runs, or is to', async ({
    storage: { agents },
    scene,
  }) => {
    const change = { name: 'renamed', runtime: { kind: 'http', options: {} }, updatedAt: NOW + 5 }
    for (const settings of [
      { desiredState: 'stopped' },
      { ...STOPPED, desiredState: 'running' },
    ] as const) {
      const agent = await scene.agent(settings)
      expect(await agents.update(PROJECT_ID, agent.id, change)).toBe('not_stopped')
      expect(await agents.get(PROJECT_ID, agent.id)).toEqual(agent)
    }
  })

  it('changes the runtime of a running agent if the change restarts it', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent({ state: { kind: 'running', startedAt: NOW } })
    const runtime = { kind: 'http', options: { url: 'https://new.example' } }
    const changed = { ...agent, runtime, updatedAt: NOW + 5 }
    const change = { runtime, updatedAt: NOW + 5 }
    expect(await agents.update(PROJECT_ID, agent.id, change, undefined, true)).toEqual(changed)
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual(changed)
  })

  it('refuses the name of another agent, and takes its own', async ({
    storage: { agents },
    scene,
  }) => {
    const [agent, other] = [await scene.agent({ name: 'one' }), await scene.agent({ name: 'two' })]
    expect(
      await agents.update(PROJECT_ID, agent.id, { name: other.name, maxQueued: 1, updatedAt: NOW }),
    ).toBe('name_taken')
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual(agent)
    expect(
      await agents.update(PROJECT_ID, agent.id, { name: 'one', updatedAt: NOW }),
    ).toMatchObject({ name: 'one' })
  })

  it('changes the state only from the one that was expected', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent({ state: { kind: 'stopped' } })
    const running = { kind: 'running', startedAt: NOW } as const
    const change = { agentId: agent.id, to: running }
    expect(await agents.changeState({ ...change, from: 'starting' })).toEqual({
      changed: false,
      deliveries: [],
      skipped: [],
    })
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual(agent)
    expect(await agents.changeState({ ...change, from: 'stopped' })).toEqual({
      changed: true,
      deliveries: [],
      skipped: [],
    })
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual({ ...agent, state: running })
    expect(
      await agents.changeState({ ...change, agentId: UNKNOWN_ID, from: 'stopped' }),
    ).toMatchObject({ changed: false })
  })

  it('lists the agents of every project that should run or are not stopped', async ({
    storage: { agents },
    scene,
  }) => {
    const stopped = { kind: 'stopped' } as const
    const active = [
      await scene.agent({ desiredState: 'running', state: stopped }),
      await scene.agent({ desiredState: 'stopped' }),
      await scene.agent({ desiredState: 'stopped', state: { kind: 'stopping' } }),
      await scene.agent({ projectId: OTHER_PROJECT_ID }),
    ]
    await scene.agent({ desiredState: 'stopped', state: stopped })
    const listed = await agents.listActive()
    expect(listed).toHaveLength(active.length)
    expect(listed).toEqual(expect.arrayContaining(active))
  })

  it('refuses to delete an agent with open messages in any state', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(await storage.agents.delete(PROJECT_ID, agent.id)).toBe('busy')
    await storage.messages.defer({
      ...heldBy(run),
      state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW },
    })
    expect(await storage.agents.delete(PROJECT_ID, agent.id)).toBe('busy')
    await storage.messages.recordRun({
      ...heldBy(run),
      state: { kind: 'queued', notBefore: NOW },
      now: NOW,
    })
    expect(await storage.agents.delete(PROJECT_ID, agent.id)).toBe('busy')
    expect(await storage.agents.get(PROJECT_ID, agent.id)).toEqual(agent)
  })

  it('deletes an agent with its messages and keeps the deliveries of its events', async ({
    storage,
    scene,
  }) => {
    const [agent] = [await scene.agent(), await scene.webhook()]
    const run = await scene.run(agent, { idempotencyKey: 'k' })
    await scene.answer(run)
    await scene.publish(agent)
    expect(await storage.agents.delete(PROJECT_ID, agent.id)).toBe('deleted')
    expect(await storage.agents.get(PROJECT_ID, agent.id)).toBeUndefined()
    expect(await scene.reread(run.message)).toBeUndefined()
    expect(await storage.messages.accept(newMessage(agent, { idempotencyKey: 'k' }))).toEqual({
      kind: 'agent_not_found',
    })
    expect(await storage.agents.delete(PROJECT_ID, agent.id)).toBeUndefined()
    expect(
      await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS }),
    ).toHaveLength(1)
  })

  it('frees the name of a deleted agent, and its sessions start afresh', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent({ name: 'echo' })
    await scene.answer(await scene.run(agent))
    await agents.delete(PROJECT_ID, agent.id)
    const successor = anAgent({ name: 'echo' })
    expect(await agents.create(successor, 1_000)).toBe('created')
    expect((await scene.run(successor)).message.attempt).toBe(1)
  })
}
