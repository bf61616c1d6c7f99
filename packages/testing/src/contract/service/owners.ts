import { expect } from 'vitest'
import { LEASE_MS, NOW, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const AT_FIRST = { now: NOW, until: NOW + LEASE_MS }

export function ownersSuite(it: StorageTest): void {
  it('G5: gives an agent to the first owner, and to no other one during its lease', async ({
    storage: { agents },
    scene,
  }) => {
    const [one, other] = [await scene.agent(), await scene.agent()]
    expect(await agents.own({ owner: 'a', agentIds: [one.id], ...AT_FIRST })).toEqual([one.id])
    expect(await agents.own({ owner: 'b', agentIds: [one.id, other.id], ...AT_FIRST })).toEqual([
      other.id,
    ])
    expect(
      await agents.own({
        owner: 'b',
        agentIds: [one.id],
        now: NOW + LEASE_MS - 1,
        until: NOW + 2 * LEASE_MS,
      }),
    ).toEqual([])
  })

  it('takes an agent over at the end of the lease, and keeps it from its former owner', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent()
    await agents.own({ owner: 'a', agentIds: [agent.id], ...AT_FIRST })
    const later = { agentIds: [agent.id], now: NOW + LEASE_MS, until: NOW + 2 * LEASE_MS }
    expect(await agents.own({ owner: 'b', ...later })).toEqual([agent.id])
    expect(await agents.own({ owner: 'a', ...later })).toEqual([])
  })

  it('extends the lease of an owner, also of a late one without a successor', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent()
    for (const now of [NOW, NOW + LEASE_MS - 1, NOW + 5 * LEASE_MS])
      expect(
        await agents.own({ owner: 'a', agentIds: [agent.id], now, until: now + LEASE_MS }),
      ).toEqual([agent.id])
    expect(
      await agents.own({
        owner: 'b',
        agentIds: [agent.id],
        now: NOW + 5 * LEASE_MS + 1,
        until: NOW + 9 * LEASE_MS,
      }),
    ).toEqual([])
  })

  it('gives up all of one owner at once, and nothing of another', async ({
    storage: { agents },
    scene,
  }) => {
    const [one, two, other] = [await scene.agent(), await scene.agent(), await scene.agent()]
    await agents.own({ owner: 'a', agentIds: [one.id, two.id], ...AT_FIRST })
    await agents.own({ owner: 'b', agentIds: [other.id], ...AT_FIRST })
    await agents.disown('a')
    const taken = await agents.own({
      owner: 'c',
      agentIds: [one.id, two.id, other.id],
      ...AT_FIRST,
    })
    expect(taken.toSorted()).toEqual([one.id, two.id].toSorted())
  })

  it('changes nothing else of an agent, and knows nothing of one that is not there', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent()
    expect(await agents.own({ owner: 'a', agentIds: [agent.id, UNKNOWN_ID], ...AT_FIRST })).toEqual(
      [agent.id],
    )
    expect(await agents.get(agent.projectId, agent.id)).toEqual(agent)
    const changed = await agents.update(agent.projectId, agent.id, { maxQueued: 7, updatedAt: NOW })
    expect(await agents.own({ owner: 'b', agentIds: [agent.id], ...AT_FIRST })).toEqual([])
    expect(await agents.get(agent.projectId, agent.id)).toEqual(changed)
  })
}
