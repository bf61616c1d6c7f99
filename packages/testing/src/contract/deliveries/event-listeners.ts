import { expect } from 'vitest'
import type { ListenStep } from '@org/agent-messaging-core/storage'
import { anEvent, PROJECT_ID } from '../../builders.js'
import { LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

/** A step of the listener `mail`, at `NOW` if the test does not say. */
function by(
  owner: string,
  cursor?: string,
  { now = NOW, leaseMs = LEASE_MS, ...other }: Partial<ListenStep> & { leaseMs?: number } = {},
): ListenStep {
  return { projectId: PROJECT_ID, name: 'mail', owner, cursor, now, until: now + leaseMs, ...other }
}

export function eventListenersSuite(it: StorageTest): void {
  it('asks the first owner for a place, and stores it', async ({ storage: { events } }) => {
    expect(await events.listen(by('a'))).toBe('new')
    expect(await events.listen(by('a', '1'))).toEqual({ cursor: '1' })
    expect(await events.listen(by('a', '2'))).toEqual({ cursor: '2' })
    expect(await events.listen(by('a'))).toEqual({ cursor: '2' })
  })

  it('G5: gives a listener to one owner, and to no other one during its lease', async ({
    storage,
    second,
  }) => {
    const claims = await Promise.all([
      storage.events.listen(by('a', '1')),
      second.events.listen(by('b', '2')),
    ])
    expect(claims.filter((claim) => claim === 'held')).toHaveLength(1)
    const late = { now: NOW + LEASE_MS - 1 }
    expect(await storage.events.listen(by('c', '3', late))).toBe('held')
    expect(await storage.events.listen(by('c', undefined, late))).toBe('held')
  })

  it('gives the stored place to the next owner, and keeps the former one out', async ({
    storage: { events },
  }) => {
    await events.listen(by('a', '1'))
    const later = { now: NOW + LEASE_MS }
    expect(await events.listen(by('b', '9', later))).toEqual({ cursor: '1' })
    expect(await events.listen(by('a', '8', later))).toBe('held')
    expect(await events.listen(by('b', '2', later))).toEqual({ cursor: '2' })
  })

  it('extends the lease of an owner, also of a late one without a successor', async ({
    storage: { events },
  }) => {
    await events.listen(by('a', '1'))
    const late = { now: NOW + 5 * LEASE_MS }
    expect(await events.listen(by('a', '2', late))).toEqual({ cursor: '2' })
    expect(await events.listen(by('b', '3', late))).toBe('held')
  })

  it('releases a listener by a lease that has ended', async ({ storage: { events } }) => {
    await events.listen(by('a', '1'))
    await events.listen(by('a', '2', { leaseMs: 0 }))
    expect(await events.listen(by('b'))).toEqual({ cursor: '2' })
  })

  it('G6: keeps listeners of other projects and with other names apart', async ({
    storage: { events },
  }) => {
    await events.listen(by('a', '1'))
    expect(await events.listen(by('b', undefined, { projectId: OTHER_PROJECT_ID }))).toBe('new')
    expect(await events.listen(by('b', '2', { name: 'other' }))).toEqual({ cursor: '2' })
    expect(await events.listen(by('a'))).toEqual({ cursor: '1' })
  })

  it('finds the place of an instant in the log of a project', async ({ storage, scene }) => {
    const [agent, other] = [await scene.agent(), await scene.agent({ projectId: OTHER_PROJECT_ID })]
    const events = [0, 1, 2].map((minutes) => anEvent(agent, { createdAt: NOW + minutes * MINUTE }))
    for (const event of events) {
      await scene.publish(agent, event)
      await scene.publish(other, { createdAt: event.createdAt })
    }
    const idsFrom = async (createdBefore: number) => {
      const after = await storage.events.positionAt({ projectId: PROJECT_ID, createdBefore })
      const page = await storage.events.list({ projectId: PROJECT_ID, after, limit: 9 })
      return page === 'expired' ? page : page.events.map(({ id }) => id)
    }
    const ids = events.map(({ id }) => id)
    expect(await idsFrom(NOW)).toEqual(ids)
    expect(await idsFrom(NOW + MINUTE)).toEqual(ids.slice(1))
    expect(await idsFrom(NOW + 2 * MINUTE + 1)).toEqual([])
    await storage.events.purge({ createdBefore: NOW + MINUTE, limit: 9 })
    expect(await idsFrom(NOW)).toEqual(ids.slice(1))
  })
}
