import { describe, expect, it } from 'vitest'
import { openScene, UNKNOWN_ID } from '../../test/scene.js'

const wanted = { name: 'ci', permissions: ['project:message'] }

describe('/v1/keys', () => {
  it('shows a key only in the answer to create', async () => {
    const { ask } = await openScene()
    const created = await ask('POST', '/v1/keys', {
      body: { ...wanted, expiresAt: '2030-01-31T01:00:00+01:00' },
    })
    expect(created.status).toBe(201)
    const shown = {
      id: expect.any(String),
      ...wanted,
      createdAt: '2030-01-01T00:00:00.000Z',
      expiresAt: '2030-01-31T00:00:00.000Z',
    }
    expect(created.json).toEqual({ ...shown, key: expect.stringMatching(/^amk_[0-9A-Za-z]{38}$/) })
    const listed = await ask('GET', '/v1/keys')
    expect(listed.json.data).toContainEqual(shown)
    expect(listed.text).not.toContain(created.json.key)
    expect((await ask('GET', '/v1/agents/a/messages', { key: created.json.key })).status).toBe(404)
  })

  it('takes a role instead of permissions, and shows the role', async () => {
    const { ask } = await openScene()
    const created = await ask('POST', '/v1/keys', { body: { name: 'ann', role: 'support' } })
    const shown = {
      role: 'support',
      permissions: ['project:read', 'project:message', 'project:webhooks'],
    }
    expect([created.status, created.json]).toMatchObject([201, shown])
    const [listed] = (await ask('GET', '/v1/keys')).json.data
    expect(listed).toMatchObject({ name: 'ann', ...shown })
  })

  it('revokes a key immediately', async () => {
    const { ask } = await openScene()
    const { id, key } = (await ask('POST', '/v1/keys', { body: wanted })).json
    for (const _ of ['first', 'again'])
      expect((await ask('DELETE', `/v1/keys/${id}`)).status).toBe(204)
    expect((await ask('GET', '/v1/agents/a/messages', { key })).status).toBe(401)
    const [revoked] = (await ask('GET', '/v1/keys?limit=1')).json.data
    expect(revoked).toMatchObject({ id, revokedAt: '2030-01-01T00:00:00.000Z' })
    expect((await ask('DELETE', `/v1/keys/${UNKNOWN_ID}`)).json.error.message).toBe(
      'No such API key',
    )
  })

  it.each([
    ['no name', { permissions: wanted.permissions }, 'name'],
    ['an empty name', { ...wanted, name: '' }, 'name'],
    ['no permissions', { name: 'ci' }, 'permissions'],
    ['a role and permissions', { ...wanted, role: 'viewer' }, 'role'],
    ['an unknown role', { name: 'ci', role: 'owner' }, 'role'],
    ['an empty list', { ...wanted, permissions: [] }, 'permissions'],
    [
      'an unknown permission',
      { ...wanted, permissions: ['project:message', 'project:*'] },
      'permissions.1',
    ],
    ['a past expiry', { ...wanted, expiresAt: '2029-12-31T23:59:59Z' }, 'expiresAt'],
    ['an expiry that is not an instant', { ...wanted, expiresAt: 'tomorrow' }, 'expiresAt'],
    ['an expiry without an offset', { ...wanted, expiresAt: '2031-01-01T00:00:00' }, 'expiresAt'],
  ])('refuses %s', async (_, body, path) => {
    const { ask } = await openScene()
    const refused = await ask('POST', '/v1/keys', { body })
    expect([refused.status, refused.json.error.issues]).toEqual([
      400,
      [{ path, message: expect.any(String) }],
    ])
  })

  it('lists only the first 20 issues', async () => {
    const { ask } = await openScene()
    const refused = await ask('POST', '/v1/keys', {
      body: { name: 'ci', permissions: Array.from({ length: 5_000 }, () => 1) },
    })
    expect([
      refused.status,
      refused.json.error.issues.length,
      refused.json.error.issues[19].path,
    ]).toEqual([400, 20, 'permissions.19'])
    expect(refused.text.length).toBeLessThan(10_000)
  })

  it('refuses a key that the caller chose', async () => {
    const { ask } = await openScene()
    const body = { ...wanted, key: 'a-key-of-my-own-choosing' }
    expect((await ask('POST', '/v1/keys', { body })).status).toBe(400)
  })
})
