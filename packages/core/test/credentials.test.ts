import { BUILT_AT, refusalOf, unwrap } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { scene } from './scene.js'

describe('an API key', () => {
  it('authenticates its project with its permissions, and is stored as a digest only', async () => {
    const { service, project, storage } = await scene()
    const input = {
      projectId: project.id,
      name: 'ci',
      permissions: ['project:message', 'project:message'],
    } as const
    const { key, apiKey } = await service.keys.create(input)
    expect(apiKey).toMatchObject({ projectId: project.id, permissions: ['project:message'] })
    expect(await service.host.authenticate({ key })).toEqual(apiKey)
    expect(
      JSON.stringify(unwrap(await storage.credentials.listKeys(project.id, { limit: 10 }))),
    ).not.toContain(key)
  })
  it('gets the same error if it is unknown, mistyped, revoked or expired', async () => {
    const { service, project, clock } = await scene()
    const input = { projectId: project.id, name: 'k', permissions: ['project:agents'] } as const
    const revoked = await service.keys.create(input)
    const expired = await service.keys.create({ ...input, expiresAt: clock.now() + 1_000 })
    await service.host.authenticate({ key: expired.key })
    await service.keys.revoke({ projectId: project.id, keyId: revoked.apiKey.id })
    await clock.advance(1_000)
    for (const key of [
      revoked.key,
      expired.key,
      `${revoked.key.slice(0, -1)}_`,
      'an unknown key of another form',
    ]) {
      expect(await refusalOf(service.host.authenticate({ key }))).toEqual({
        kind: 'unauthorized',
      })
    }
  })
  it('is refused when its project has reached its limit of keys', async () => {
    const { service, project } = await scene({
      policy: { limits: { ...defaultLimits, keysPerProject: 1 } },
    })
    const create = () =>
      service.keys.create({ projectId: project.id, name: 'k', permissions: ['project:agents'] })
    const first = await create()
    expect(await refusalOf(create())).toEqual({ kind: 'too_many_keys' })
    await service.keys.revoke({ projectId: project.id, keyId: first.apiKey.id })
    await create()
  })
  it('with a wrong checksum costs no read', async () => {
    const { service, storage } = await scene()
    storage.fail('credentials.findByDigest', { times: Infinity })
    expect((await refusalOf(service.host.authenticate({ key: 'amk_mistyped' }))).kind).toBe(
      'unauthorized',
    )
    expect((await refusalOf(service.host.authenticate({ key: 'not of our form' }))).kind).toBe(
      'unavailable',
    )
  })
  it('can be a text that the operator chooses, used once', async () => {
    const { service, project } = await scene()
    const input = {
      projectId: project.id,
      name: 'bootstrap',
      permissions: ['project:admin'],
      key: 'a-key-of-my-own-choice',
    } as const
    expect((await service.keys.create(input)).key).toBe(input.key)
    expect((await refusalOf(service.keys.create(input))).kind).toBe('key_taken')
    await service.host.authenticate({ key: input.key })
  })
  it.each([
    ['name', { name: '' }],
    ['permissions', { permissions: [] }],
    ['permissions', { permissions: ['project:everything' as never] }],
    ['expiresAt', { expiresAt: 1 }],
    ['expiresAt', { expiresAt: BUILT_AT }],
    ['key', { key: 'too short' }],
    ['key', { key: 'amk_looks-like-one-of-ours' }],
  ])('is not made with a bad %s', async (path, more) => {
    const { service, project } = await scene()
    const input = {
      projectId: project.id,
      name: 'k',
      permissions: ['project:message'] as const,
      ...more,
    }
    expect(await refusalOf(service.keys.create(input))).toMatchObject({
      kind: 'invalid',
      issues: [{ path }],
    })
  })
  it.each(['projectId', 'name', 'permissions'])('is not made without %s', async (path) => {
    const { service, project } = await scene()
    const input = { projectId: project.id, name: 'k', permissions: ['project:message'] as const }
    expect(await refusalOf(service.keys.create({ ...input, [path]: undefined }))).toEqual({
      kind: 'invalid',
      issues: [{ path, message: expect.stringMatching(/^is required/) }],
    })
  })
  it('is neither created for nor revoked in a project that does not exist', async () => {
    const { service, project } = await scene()
    const nowhere = project.id.replace(/^0/, 'f')
    const created = await refusalOf(
      service.keys.create({
        projectId: nowhere,
        name: 'k',
        permissions: ['project:admin'],
      }),
    )
    expect(created.kind).toBe('project_not_found')
    expect(
      (await refusalOf(service.keys.revoke({ projectId: project.id, keyId: nowhere }))).kind,
    ).toBe('key_not_found')
  })
})

describe('a sign-in', () => {
  it('ends early, or when its time is over', async () => {
    const { service, clock } = await scene()
    const signIn = { id: 'mine', until: clock.now() + 1_000 }
    const isOver = async () => await service.host.isSignInOver(signIn)
    const another = { ...signIn, id: 'another' }
    expect(await isOver()).toBe(false)
    await service.host.endSignIn(another)
    expect([await isOver(), await service.host.isSignInOver(another)]).toEqual([false, true])
    await clock.advance(1_000)
    expect(await isOver()).toBe(true)
  })
})

describe('projects', () => {
  it('refuse a limit without a whole number of messages', async () => {
    const { service, project } = await scene()
    const limit = { messagesPerMinute: 0.5 } as never
    const update = { projectId: project.id, sendLimits: { project: limit, key: limit } }
    expect(await refusalOf(service.projects.update(update))).toMatchObject({
      issues: ['project', 'key'].flatMap((of) => [
        { path: `sendLimits.${of}.messagesPerMinute` },
        { path: `sendLimits.${of}.burst`, message: 'is required' },
      ]),
    })
  })
  it('have limits that can be changed', async () => {
    const { service, project } = await scene()
    const sendLimits = { project: { messagesPerMinute: 10, burst: 5 } }
    const changed = await service.projects.update({ projectId: project.id, sendLimits })
    expect(changed).toEqual({ ...project, sendLimits })
    const unknown = await refusalOf(service.projects.update({ projectId: 'unknown', sendLimits }))
    expect(unknown).toEqual({ kind: 'project_not_found' })
  })

  it('have a name and are listed', async () => {
    const { service, project } = await scene()
    expect((await service.projects.list({ limit: 10 })).data).toEqual([project])
    expect((await refusalOf(service.projects.create({ name: '' }))).kind).toBe('invalid')
    expect((await service.keys.list({ projectId: project.id, limit: 10 })).data).toEqual([])
  })
})

describe('a recalled API key', () => {
  const send = async () => {
    const all = await scene({ handler: () => ({ kind: 'answered', response: 'yes' }) })
    const { service, project, ref, storage, clock } = all
    const input = { projectId: project.id, name: 'k', permissions: ['project:message'] } as const
    const { key, apiKey } = await service.keys.create({ ...input, expiresAt: clock.now() + 1_000 })
    const message = {
      ...ref,
      sessionId: 's',
      message: 'hello',
      sentBy: { id: apiKey.id, isRecalled: true },
    }
    const revokeElsewhere = () => storage.reopen().credentials.revokeKey(project.id, apiKey.id, 1)
    return {
      ...all,
      key,
      apiKey,
      revokeElsewhere,
      sendWithKey: () => service.messages.send(message),
    }
  }

  it('needs no read, and sends until another process revokes it', async () => {
    const { service, storage, key, apiKey, revokeElsewhere, sendWithKey } = await send()
    expect(service.host.recall({ key })).toBeUndefined()
    await service.host.authenticate({ key })
    storage.fail('credentials.findByDigest', { times: Infinity })
    expect(service.host.recall({ key })).toEqual(apiKey)
    await sendWithKey()
    await revokeElsewhere()
    expect(await refusalOf(sendWithKey())).toEqual({ kind: 'unauthorized' })
  })

  it('is forgotten when it expires, and when a read finds it revoked', async () => {
    const { service, key, revokeElsewhere } = await send()
    await service.host.authenticate({ key })
    await revokeElsewhere()
    expect(service.host.recall({ key })).toBeDefined()
    await refusalOf(service.host.authenticate({ key }))
    expect(service.host.recall({ key })).toBeUndefined()
    const other = await send()
    await other.service.host.authenticate({ key: other.key })
    await other.clock.advance(1_000)
    expect(other.service.host.recall({ key: other.key })).toBeUndefined()
  })
})
