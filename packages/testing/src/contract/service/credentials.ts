import type { Project } from '@org/agent-messaging-core'
import { ENDED_SIGN_IN, NO_PROJECT } from '@org/agent-messaging-core/storage'
import { expect } from 'vitest'
import { anApiKey, aProject, PROJECT_ID } from '../../builders.js'
import { MINUTE, NOW, OTHER_PROJECT_ID, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const DIGEST = 'ab'.repeat(32)

export function credentialsSuite(it: StorageTest): void {
  it('keeps a project, and the same one once', async ({ storage: { credentials } }) => {
    const project = aProject({ id: UNKNOWN_ID, name: "the customer's é", createdAt: NOW + 3 })
    expect(await credentials.getProject(project.id)).toBeUndefined()
    await credentials.createProject(project)
    await credentials.createProject(project)
    expect(await credentials.getProject(project.id)).toEqual(project)
    expect(
      (await credentials.listProjects({ limit: 10 })).data.filter(({ id }) => id === project.id),
    ).toEqual([project])
  })

  it('keeps one project of an external id, also for two processes at once', async ({
    storage,
    second,
  }) => {
    const [first, ...others] = ['a', 'b', 'c', 'd'].map((end, i) => ({
      ...aProject({ id: UNKNOWN_ID.slice(0, -1) + end, externalId: 'customer-42' }),
      credentials: (i % 2 ? storage : second).credentials,
    }))
    const create = async ({ credentials, ...project }: NonNullable<typeof first>) => ({
      project,
      answer: await credentials.createProject(project),
    })
    const made = await Promise.all(
      [first, ...others].map((one) => create(one as typeof first & object)),
    )
    const [winner, ...none] = made.filter(({ answer }) => answer === 'created')
    expect(none).toEqual([])
    const project = winner?.project as Project
    for (const { answer } of made.filter((one) => one !== winner))
      expect(answer).toEqual({ kind: 'external_id_taken', project })
    const { credentials } = storage
    expect(await credentials.createProject(project)).toBe('created')
    expect(await credentials.findProject('customer-42')).toEqual(project)
    expect(await credentials.getProject(project.id)).toEqual(project)
    expect(await credentials.findProject('Customer-42')).toBeUndefined()
    expect(await credentials.findProject(project.id)).toBeUndefined()
    expect(await credentials.getProject('customer-42')).toBeUndefined()
    expect(await credentials.updateProject(project.id, { sendLimits: {} })).toEqual(project)
    expect((await credentials.listProjects({ limit: 10 })).data).toContainEqual(project)
    expect(await credentials.createProject(aProject({ id: UNKNOWN_ID, name: 'none' }))).toBe(
      'created',
    )
  })

  it('keeps keys of no project apart from those of projects', async ({
    storage: { credentials },
  }) => {
    const key = anApiKey({ projectId: NO_PROJECT })
    const create = (one = key, digest = DIGEST) => credentials.createKey(one, digest, 1)
    expect(await create()).toBe('created')
    expect(await create(anApiKey({ projectId: NO_PROJECT }), key.id)).toBe('limit_reached')
    expect(await create(anApiKey(), key.id)).toBe('created')
    expect(await credentials.findByDigest(DIGEST)).toEqual(key)
    expect((await credentials.listKeys(NO_PROJECT, { limit: 10 })).data).toEqual([key])
    expect(await credentials.revokeKey(PROJECT_ID, key.id, NOW)).toBeUndefined()
    expect(await credentials.revokeKey(NO_PROJECT, key.id, NOW)).toBe('revoked')
  })

  it('keeps a key, reads it back whole and finds it by its digest', async ({
    storage: { credentials },
  }) => {
    const plain = anApiKey()
    const full = anApiKey({
      name: 'é',
      permissions: ['project:message', 'project:admin'],
      expiresAt: NOW + MINUTE,
      revokedAt: NOW + 1,
    })
    expect(await credentials.createKey(plain, DIGEST, 1_000)).toBe('created')
    expect(await credentials.createKey(full, 'cd'.repeat(32), 1_000)).toBe('created')
    expect(await credentials.findByDigest(DIGEST)).toEqual(plain)
    expect(await credentials.findByDigest('cd'.repeat(32))).toEqual(full)
    expect(await credentials.findByDigest('ef'.repeat(32))).toBeUndefined()
    expect(await credentials.findByDigest('')).toBeUndefined()
    expect((await credentials.listKeys(PROJECT_ID, { limit: 10 })).data).toEqual([full, plain])
  })

  it('refuses the digest of a key of any project, but not the same key again', async ({
    storage: { credentials },
  }) => {
    const key = anApiKey()
    expect(await credentials.createKey(key, DIGEST, 1_000)).toBe('created')
    expect(await credentials.createKey(key, DIGEST, 1_000)).toBe('created')
    expect(await credentials.createKey(anApiKey(), DIGEST, 1_000)).toBe('digest_taken')
    expect(
      await credentials.createKey(anApiKey({ projectId: OTHER_PROJECT_ID }), DIGEST, 1_000),
    ).toBe('digest_taken')
    expect(await credentials.findByDigest(DIGEST)).toEqual(key)
  })

  it('limits the keys of a project, without revoked and expired ones', async ({
    storage: { credentials },
  }) => {
    const [first, second, third] = [
      anApiKey(),
      anApiKey({ expiresAt: NOW + MINUTE }),
      anApiKey({ createdAt: NOW + MINUTE }),
    ]
    const create = (key = anApiKey(), digest = key.id) => credentials.createKey(key, digest, 2)
    expect([await create(first), await create(second), await create(second)]).toEqual([
      'created',
      'created',
      'created',
    ])
    expect([await create(), await create(anApiKey(), first.id)]).toEqual([
      'limit_reached',
      'digest_taken',
    ])
    expect(await create(anApiKey({ projectId: OTHER_PROJECT_ID }))).toBe('created')
    expect([await create(third), await create(anApiKey({ createdAt: NOW + MINUTE }))]).toEqual([
      'created',
      'limit_reached',
    ])
    await credentials.revokeKey(PROJECT_ID, first.id, NOW)
    expect(await create(anApiKey({ createdAt: NOW + MINUTE }))).toBe('created')
  })

  it('keeps the limit of keys when many are created at once', async ({ storage, second }) => {
    const creates = Array.from({ length: 10 }, (_, i) => {
      const key = anApiKey()
      return (i % 2 ? storage : second).credentials.createKey(key, key.id, 3)
    })
    expect((await Promise.all(creates)).filter((answer) => answer === 'created')).toHaveLength(3)
  })

  it('refuses a key for a project that is not there', async ({ storage: { credentials } }) => {
    expect(await credentials.createKey(anApiKey({ projectId: UNKNOWN_ID }), DIGEST, 1_000)).toBe(
      'project_not_found',
    )
    expect(await credentials.findByDigest(DIGEST)).toBeUndefined()
  })

  it('revokes a key, which is still found', async ({ storage: { credentials } }) => {
    const key = anApiKey()
    await credentials.createKey(key, DIGEST, 1_000)
    expect(await credentials.findByDigest(DIGEST)).toEqual(key) // a store can cache the key now
    expect(await credentials.revokeKey(PROJECT_ID, key.id, NOW + 9)).toBe('revoked')
    expect(await credentials.findByDigest(DIGEST)).toEqual({ ...key, revokedAt: NOW + 9 })
    expect(await credentials.revokeKey(PROJECT_ID, UNKNOWN_ID, NOW)).toBeUndefined()
  })

  it('revokes a key again without harm: the first time stays', async ({
    storage: { credentials },
  }) => {
    const key = anApiKey()
    await credentials.createKey(key, DIGEST, 1_000)
    await credentials.revokeKey(PROJECT_ID, key.id, NOW + 9)
    expect(await credentials.revokeKey(PROJECT_ID, key.id, NOW + MINUTE)).toBe('already_revoked')
    expect(await credentials.findByDigest(DIGEST)).toMatchObject({ revokedAt: NOW + 9 })
  })

  it('knows an ended sign-in in every process, until the end of its time', async ({
    storage,
    second,
  }) => {
    const [short, long] = [
      { id: 'short', until: NOW + MINUTE },
      { id: 'long', until: NOW + 2 * MINUTE },
    ]
    const isEnded = async ({ credentials }: typeof storage, id: string) =>
      (await credentials.readSetting(ENDED_SIGN_IN + id)) !== undefined
    expect(await isEnded(storage, 'long')).toBe(false)
    await storage.credentials.endSignIn(short, NOW)
    await storage.credentials.endSignIn(long, NOW)
    await second.credentials.endSignIn(long, NOW)
    expect(await isEnded(second, 'short')).toBe(true)
    expect(await isEnded(second, 'long')).toBe(true)
    expect(await isEnded(second, 'lon')).toBe(false)
    await storage.credentials.endSignIn({ id: 'third', until: NOW + 2 * MINUTE }, NOW + MINUTE)
    expect(await isEnded(second, 'short')).toBe(false)
    expect(await isEnded(second, 'long')).toBe(true)
  })

  it('sets a setting without a value once', async ({ storage, second }) => {
    expect(await storage.credentials.readSetting('canary')).toBeUndefined()
    const set = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        (i % 2 ? storage : second).credentials.replaceSetting('canary', undefined, `value ${i}`),
      ),
    )
    expect(set.filter(Boolean)).toHaveLength(1)
    expect(await second.credentials.readSetting('canary')).toBe(`value ${set.indexOf(true)}`)
    expect(await storage.credentials.replaceSetting('other', undefined, '')).toBe(true)
    expect(await storage.credentials.replaceSetting('other', undefined, 'later')).toBe(false)
    expect(await storage.credentials.readSetting('other')).toBe('')
  })
}
