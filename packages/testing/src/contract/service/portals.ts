import { expect } from 'vitest'
import { aPortalSession, PROJECT_ID } from '../../builders.js'
import { MINUTE, NOW, OTHER_PROJECT_ID, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const DIGEST = 'ab'.repeat(32)
const LINK = { linkUntil: NOW + MINUTE, until: NOW + 2 * MINUTE }

export function portalsSuite(it: StorageTest): void {
  it('keeps a session, reads it back whole, and creates it once', async ({
    storage: { portals },
  }) => {
    const plain = aPortalSession()
    const full = aPortalSession({
      permissions: ['project:webhooks', 'project:message'],
      title: 'Zoë & Co',
      returnUrl: 'https://example.com/é',
    })
    expect(await portals.create(plain, DIGEST, 10)).toBe('created')
    expect(await portals.create(full, 'cd'.repeat(32), 10)).toBe('created')
    expect(await portals.create(full, 'cd'.repeat(32), 10)).toBe('created')
    expect(await portals.find(plain.id)).toEqual(plain)
    expect(await portals.find(full.id)).toEqual(full)
    expect(await portals.find(UNKNOWN_ID)).toBeUndefined()
  })

  it('refuses a session of a project that is not there', async ({ storage: { portals } }) => {
    const session = aPortalSession({ projectId: UNKNOWN_ID })
    expect(await portals.create(session, DIGEST, 10)).toBe('project_not_found')
    expect(await portals.find(session.id)).toBeUndefined()
  })

  it('opens a session once, also from many processes', async ({ storage, second }) => {
    const session = aPortalSession(LINK)
    await storage.portals.create(session, DIGEST, 10)
    const opened = await Promise.all(
      Array.from({ length: 6 }, (_, i) => (i % 2 ? storage : second).portals.open(DIGEST, NOW + 1)),
    )
    const expected = { ...session, openedAt: NOW + 1 }
    expect(opened.filter(Boolean)).toEqual([expected])
    expect(await second.portals.find(session.id)).toEqual(expected)
  })

  it('reads the session of a link, and leaves the link usable', async ({ storage, second }) => {
    const session = aPortalSession(LINK)
    await storage.portals.create(session, DIGEST, 10)
    expect(await second.portals.findByDigest('ef'.repeat(32))).toBeUndefined()
    expect(await second.portals.findByDigest(DIGEST)).toEqual(session)
    const opened = await storage.portals.open(DIGEST, NOW + 1)
    expect(opened).toEqual({ ...session, openedAt: NOW + 1 })
    expect(await second.portals.findByDigest(DIGEST)).toEqual(opened)
  })

  it('opens no session whose link has expired or that has ended', async ({
    storage: { portals },
  }) => {
    const [late, ended] = [aPortalSession(LINK), aPortalSession(LINK)]
    await portals.create(late, DIGEST, 10)
    await portals.create(ended, 'cd'.repeat(32), 10)
    await portals.end(PROJECT_ID, ended.id, NOW)
    expect(await portals.open(DIGEST, LINK.linkUntil)).toBeUndefined()
    expect(await portals.open('cd'.repeat(32), NOW)).toBeUndefined()
    expect(await portals.open('ef'.repeat(32), NOW)).toBeUndefined()
    expect(await portals.find(late.id)).toEqual(late)
  })

  it('ends a session of the project, and keeps the first time', async ({ storage, second }) => {
    const session = aPortalSession(LINK)
    await storage.portals.create(session, DIGEST, 10)
    const { portals } = second
    expect(await portals.end(OTHER_PROJECT_ID, session.id, NOW)).toBeUndefined()
    expect(await portals.end(PROJECT_ID, UNKNOWN_ID, NOW)).toBeUndefined()
    expect(await portals.end(PROJECT_ID, session.id, NOW + 3)).toBe('ended')
    expect(await portals.end(PROJECT_ID, session.id, NOW + 4)).toBe('already_ended')
    expect(await storage.portals.find(session.id)).toEqual({ ...session, endedAt: NOW + 3 })
  })

  it('limits the sessions of a project, and deletes the ones whose time has passed', async ({
    storage: { portals },
  }) => {
    const first = aPortalSession(LINK)
    const create = (session = aPortalSession(LINK)) => portals.create(session, session.id, 1)
    expect([await create(first), await create(first), await create()]).toEqual([
      'created',
      'created',
      'limit_reached',
    ])
    expect(await create(aPortalSession({ ...LINK, projectId: OTHER_PROJECT_ID }))).toBe('created')
    const later = aPortalSession({ createdAt: LINK.until, until: LINK.until + 1 })
    expect(await create(later)).toBe('created')
    expect(await portals.find(first.id)).toBeUndefined()
  })

  it('keeps the limit of sessions when many are created at once', async ({ storage, second }) => {
    const creates = Array.from({ length: 10 }, (_, i) => {
      const session = aPortalSession(LINK)
      return (i % 2 ? storage : second).portals.create(session, session.id, 3)
    })
    expect((await Promise.all(creates)).filter((answer) => answer === 'created')).toHaveLength(3)
  })
}
