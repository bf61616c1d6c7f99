import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { openScene } from '../../test/scene.js'

const PAGE = 'https://msg.example/console/portal'
const portal = { pageUrl: () => PAGE, returnOrigins: ['https://app.example'] }
const open = () => openScene({ http: { portal } })

describe('POST /v1/portal-links', () => {
  it('creates a link for the webhooks, for an hour', async () => {
    const { ask, service } = await open()
    const created = await ask('POST', '/v1/portal-links', { body: {} })
    expect([created.status, created.json]).toEqual([
      201,
      {
        id: expect.any(String),
        url: expect.stringMatching(/^https:\/\/msg\.example\/console\/portal\?code=[0-9a-f]{64}$/),
        permissions: ['project:webhooks'],
        readOnly: false,
        createdAt: '2030-01-01T00:00:00.000Z',
        linkExpiresAt: '2030-01-01T00:15:00.000Z',
        expiresAt: '2030-01-01T01:00:00.000Z',
      },
    ])
    const [, code = ''] = created.json.url.split('code=')
    expect((await service.host.openPortal({ code })).id).toBe(created.json.id)
  })

  it('takes permissions, a lifetime and a page to go back to', async () => {
    const { ask } = await open()
    const body = {
      permissions: ['project:message', 'project:message'],
      lifetimeSeconds: 60,
      title: 'Zoë & Co',
      returnUrl: 'https://app.example/settings?tab=2',
    }
    expect((await ask('POST', '/v1/portal-links', { body })).json).toMatchObject({
      permissions: ['project:message'],
      title: body.title,
      returnUrl: body.returnUrl,
      linkExpiresAt: '2030-01-01T00:01:00.000Z',
      expiresAt: '2030-01-01T00:01:00.000Z',
    })
  })

  it.each([
    [{ permissions: [] }, 'permissions'],
    [{ permissions: ['project:admin'] }, 'permissions'],
    [{ lifetimeSeconds: 59 }, 'lifetimeSeconds'],
    [{ lifetimeSeconds: 86_401 }, 'lifetimeSeconds'],
    [{ lifetimeSeconds: 60.5 }, 'lifetimeSeconds'],
    [{ title: '' }, 'title'],
    [{ title: 'a'.repeat(101) }, 'title'],
    [{ returnUrl: 'https://evil.example/' }, 'returnUrl'],
    [{ returnUrl: 'javascript:alert(1)' }, 'returnUrl'],
    [{ returnUrl: 'not a url' }, 'returnUrl'],
    [{ returnUrl: `https://app.example/${'a'.repeat(2_000)}` }, 'returnUrl'],
  ])('refuses %j', async (body, field) => {
    const { ask } = await open()
    const refused = await ask('POST', '/v1/portal-links', { body })
    expect([refused.status, refused.json.error.issues[0].path]).toEqual([
      400,
      expect.stringContaining(field),
    ])
  })

  it.each([undefined, { ...portal, pageUrl: () => undefined }])(
    'says that the server has no portal',
    async (missing) => {
      const { ask } = await openScene({ http: { portal: missing } })
      const refused = await ask('POST', '/v1/portal-links', { body: {} })
      expect([refused.status, refused.json.error.message]).toEqual([
        404,
        expect.stringContaining('SERVICE_PUBLIC_URL'),
      ])
    },
  )
})

describe('a link with project:message', () => {
  const path = '/v1/portal-links'
  const body = { permissions: ['project:webhooks', 'project:message'] }
  const admin = ['project:admin'] as const
  const portals = ['project:portals'] as const
  const withMessage = ['project:portals', 'project:message'] as const
  const WORDS = 'The caller lacks the permission project:message'

  it.each([
    ['key', portals, 403],
    ['key', ['project:portals', 'project:read'], 403],
    ['key', withMessage, 201],
    ['key', admin, 201],
    ['platform key', portals, 403],
    ['platform key', admin, 403],
    ['platform key', withMessage, 201],
  ] as const)('by a %s with %j: %i', async (kind, permissions, status) => {
    const { ask, service, project, keyWith } = await open()
    const isOfProject = kind === 'key'
    const { key } = isOfProject
      ? await keyWith(permissions)
      : await service.platformKeys.create({ name: 'our product', permissions })
    const place = isOfProject ? path : `/v1/projects/${project.id}/portal-links`
    const answer = await ask('POST', place, { key, body })
    expect([answer.status, answer.json.error?.message]).toEqual([
      status,
      status === 403 ? WORDS : undefined,
    ])
    const webhooks = { permissions: ['project:webhooks'] }
    expect((await ask('POST', place, { key, body: webhooks })).status).toBe(201)
  })
})

describe('DELETE /v1/portal-links/:id', () => {
  it('ends the session, again without harm, and records it once', async () => {
    const { ask, service } = await open()
    const { id, url } = (await ask('POST', '/v1/portal-links', { body: {} })).json
    const path = `/v1/portal-links/${id}`
    expect([(await ask('DELETE', path)).status, (await ask('DELETE', path)).status]).toEqual([
      204, 204,
    ])
    await refusalOf(service.host.openPortal({ code: url.split('code=')[1] }))
    const { data } = (await ask('GET', `/v1/audit-log?targetId=${id}`)).json
    expect(data.map(({ action }: { action: string }) => action)).toEqual([
      'portal.ended',
      'portal.created',
    ])
  })

  it.each(['01a2087e-bb88-712b-ac6f-8ca626ef0ec3', 'no-id'])('does not find %s', async (id) => {
    const { ask } = await open()
    expect((await ask('DELETE', `/v1/portal-links/${id}`)).status).toBe(404)
  })
})
