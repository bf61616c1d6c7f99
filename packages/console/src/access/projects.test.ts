import { refusalOf } from '@org/agent-messaging-testing'
import { PERMISSIONS } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { cookieOf, ORIGIN, scene } from '../../test/scene.js'
import { createConsole } from '../console.js'

const OPERATOR_KEY = 'an-operator-key-that-nobody-guesses'
const KEY = /amk_[0-9A-Za-z]{38}/

/** A scene with a second project, and forms that are sent with a cookie. */
async function twoProjects() {
  const s = await scene({ operatorKey: OPERATOR_KEY })
  const other = await s.service.projects.create({ name: 'other shop' })
  const made = await s.service.keys.create({
    projectId: other.id,
    name: 'second',
    permissions: ['project:message'],
  })
  const send = (path: string, form: Record<string, string>, cookie: string) =>
    s.post(path, form, { origin: ORIGIN, cookie })
  const text = async (path: string, cookie: string) => (await s.get(path, cookie)).text()
  return { ...s, other, otherKey: made.key, send, text }
}

it('the operator sees what waits, fails and was used in each project, and no text', async () => {
  const { service, projectId, other, post, text } = await twoProjects()
  const { webhook } = await service.webhooks.create({
    projectId: other.id,
    url: 'https://a.example/',
    events: ['*'],
  })
  await service.webhooks.update({
    projectId: other.id,
    webhookId: webhook.id,
    change: { enabled: false },
  })
  await service.messages.send({
    projectId,
    agent: 'bot',
    sessionId: 's',
    message: 'a secret of a person',
    executionPrincipal: { type: 'end_user', endUserId: 'ann' },
  })
  const operator = cookieOf(await post('/console/sign-in', { key: OPERATOR_KEY }))
  const page = await text('/console/projects', operator)
  expect(page.indexOf('other shop')).toBeLessThan(page.indexOf('>test<'))
  expect(page).not.toContain('secret')
  const file = await text('/console/projects?format=csv', operator)
  const [titles, first, second] = file.split('\r\n')
  expect(titles).toBe(
    'Project,Failing webhooks,Held,Open deliveries,Oldest due,Open messages,Messages,Failed,Tokens,Created',
  )
  expect(first).toMatch(/^other shop [0-9a-f-]{36},1,0,0,,0,0,0,0,/)
  expect(second).toMatch(/^test [0-9a-f-]{36},0,0,0,,0,1,0,0,/)
})

describe('API keys', () => {
  it('are created, shown once, used, and revoked', async () => {
    const { signIn, send, text, service } = await twoProjects()
    const cookie = await signIn()
    const form = { name: 'the <crm>', permissions: 'project:message' }
    const created = await (await send('/console/keys', form, cookie)).text()
    const key = KEY.exec(created)?.[0] ?? ''
    expect(created).toContain('the &lt;crm&gt;')
    const apiKey = await service.host.authenticate({ key })
    expect(apiKey.permissions).toEqual(['project:message'])
    const list = await text('/console/keys', cookie)
    expect(list).toContain(apiKey.id)
    expect(list).not.toMatch(KEY)

    const path = `/console/keys/${apiKey.id}/revoke`
    expect(await text(path, cookie)).toContain('You cannot undo this')
    expect((await send(path, {}, cookie)).headers.get('location')).toContain('keyRevoked')
    await refusalOf(service.host.authenticate({ key }))
    expect(await text('/console/keys', cookie)).toContain('revoked')
  })

  it.each([
    [{ name: '', permissions: 'project:message' }, 'name'],
    [{ name: 'k' }, 'permissions'],
    [{ name: 'k', permissions: 'project:everything' }, 'permissions'],
  ])('are refused with %j, and the form keeps its texts', async (form, field) => {
    const { signIn, send } = await twoProjects()
    const answer = await send('/console/keys', form, await signIn())
    const page = await answer.text()
    expect([answer.status, /role="alert">([^<]*)</.exec(page)?.[1]]).toEqual([
      400,
      expect.stringContaining(field),
    ])
    expect(page).toContain(`value="${form.name}"`)
  })

  it('end the session that used them', async () => {
    const { signIn, send, apiKey, get } = await twoProjects()
    const cookie = await signIn()
    const path = `/console/keys/${apiKey.id}/revoke`
    const asked = await (await get(path, cookie)).text()
    expect(asked).toContain('You are signed in with this key')
    await send(path, {}, cookie)
    expect((await get('/console', cookie)).headers.get('location')).toContain('sign-in')
  })

  it('of another project cannot be seen or revoked', async () => {
    const { signIn, send, text, service, otherKey } = await twoProjects()
    const { id } = await service.host.authenticate({ key: otherKey })
    const cookie = await signIn()
    expect(await text('/console/keys', cookie)).not.toContain(id)
    expect((await send(`/console/keys/${id}/revoke`, {}, cookie)).status).toBe(404)
    await service.host.authenticate({ key: otherKey })
  })

  it.each(['/console/keys', '/console/audit-log'])('%s needs its permission', async (path) => {
    const { signIn, otherKey, get } = await twoProjects()
    expect((await get(path, await signIn(otherKey))).status).toBe(403)
  })
})

describe('the audit log', () => {
  it('shows who changed what, with filters, and no key', async () => {
    const { signIn, send, text, apiKey } = await twoProjects()
    const cookie = await signIn()
    const form = { name: 'k', permissions: 'project:message' }
    const key = KEY.exec(await (await send('/console/keys', form, cookie)).text())?.[0] ?? 'none'
    const page = await text('/console/audit-log?action=key.created&actor=console', cookie)
    expect(page).toContain('console, with the API key')
    expect(page).toContain(apiKey.id)
    expect(page).not.toContain(key)
    expect(await text('/console/audit-log?action=key.revoked', cookie)).toContain('No changes')
    expect(await text('/console/audit-log?target=%00&action=odd', cookie)).toContain('key.created')
  })
})

describe('several projects in one session', () => {
  it('are added with a key each, and switched', async () => {
    const { signIn, send, text, otherKey, other, projectId } = await twoProjects()
    const added = await send('/console/sign-in', { key: otherKey, add: 'yes' }, await signIn())
    const both = cookieOf(added)
    const page = await text('/console/project', both)
    expect(page).toContain('<h1><bdi>other shop</bdi></h1>')
    expect(page).toContain(`value="${projectId}"`)
    const back = cookieOf(await send('/console/switch', { project: projectId }, both))
    expect(await text('/console/project', back)).toContain('<h1><bdi>test</bdi></h1>')
    expect(await text('/console/project', back)).toContain(`value="${other.id}"`)
  })

  it('need a valid key each', async () => {
    const { signIn, send, service, otherKey, other, projectId } = await twoProjects()
    const cookie = await signIn()
    const refused = await send('/console/switch', { project: other.id }, cookie)
    expect([refused.status, cookieOf(refused)]).toEqual([404, ''])
    const both = cookieOf(await send('/console/sign-in', { key: otherKey, add: 'yes' }, cookie))
    const { id } = await service.host.authenticate({ key: otherKey })
    const back = cookieOf(await send('/console/switch', { project: projectId }, both))
    await service.keys.revoke({ projectId: other.id, keyId: id })
    expect((await send('/console/switch', { project: other.id }, back)).status).toBe(404)
  })

  it('are not taken over from a session that was signed out', async () => {
    const { signIn, send, text, otherKey, projectId } = await twoProjects()
    const copy = await signIn()
    await send('/console/sign-out', {}, copy)
    const added = await send('/console/sign-in', { key: otherKey, add: 'yes' }, copy)
    expect(await text('/console/project', cookieOf(added))).not.toContain(projectId)
  })

  it('end together', async () => {
    const { signIn, send, get, otherKey, jump } = await twoProjects()
    const cookie = await signIn()
    await jump(11 * 3_600_000)
    const both = cookieOf(await send('/console/sign-in', { key: otherKey, add: 'yes' }, cookie))
    await jump(2 * 3_600_000)
    expect((await get('/console', both)).headers.get('location')).toContain('sign-in')
  })
})

describe('a project that another tab has switched', () => {
  async function switched() {
    const s = await twoProjects()
    const { key } = await s.service.keys.create({
      projectId: s.other.id,
      name: 'all',
      permissions: PERMISSIONS,
    })
    const cookie = await s.signIn()
    const left = await s.text('/console/keys', cookie)
    expect(left).toContain(`data-project="${s.projectId}"`)
    const added = await s.send('/console/sign-in', { key, add: 'yes' }, cookie)
    return { ...s, both: cookieOf(added) }
  }

  it('refuses the forms of its pages', async () => {
    const { send, service, projectId, other, both } = await switched()
    const form = { name: 'strayed', permissions: 'project:message' }
    const strayed = await send('/console/keys', { ...form, shownProject: projectId }, both)
    expect(strayed.status).toBe(409)
    const keys = async () => (await service.keys.list({ projectId: other.id, limit: 9 })).data
    expect(await keys()).toHaveLength(2)
    const back = { project: projectId, shownProject: projectId }
    expect((await send('/console/switch', back, both)).status).toBe(303)
    const meant = await send('/console/keys', { ...form, shownProject: other.id }, both)
    expect(meant.status).toBe(200)
    expect(await keys()).toHaveLength(3)
  })

  it('loads its page again instead of a part', async () => {
    const { pages, projectId, both } = await switched()
    const headers = { cookie: both, 'hx-request': 'true', 'x-shown-project': projectId }
    const part = await pages.fetch(new Request(`${ORIGIN}/console/webhooks`, { headers }))
    expect([part.headers.get('hx-refresh'), await part.text()]).toEqual(['true', ''])
  })
})

describe('odd names and lost access', () => {
  const ODD = `<script>alert("1")</script>'&\u202e${'ä'.repeat(50)}`

  it('are shown as text, and no page shows a key', async () => {
    const { signIn, send, text } = await twoProjects()
    const cookie = await signIn(OPERATOR_KEY)
    const made = await send('/console/projects', { name: ODD }, cookie)
    const keys = made.headers.get('location') ?? ''
    const form = { name: ODD, permissions: 'project:admin' }
    const key = KEY.exec(await (await send(keys, form, cookie)).text())?.[0] ?? ''
    expect(key).not.toBe('')
    for (const path of ['/console/projects', keys, keys.replace('/keys', '/audit-log')]) {
      const page = await text(path, cookie)
      expect(page).not.toContain('<script>alert')
      expect(page).not.toContain(key)
      expect(page).not.toContain(OPERATOR_KEY)
    }
  })

  it.each(['', 'x'.repeat(101), '\0'])('refuse a project with the name %j', async (name) => {
    const { signIn, send, service } = await twoProjects()
    expect((await send('/console/projects', { name }, await signIn(OPERATOR_KEY))).status).toBe(400)
    expect((await service.projects.list({ limit: 9 })).data).toHaveLength(2)
  })

  it.each(['', 'another-operator-key'])('the setting %j ends a session', async (operatorKey) => {
    const { signIn, service, crypto } = await twoProjects()
    const cookie = await signIn(OPERATOR_KEY)
    const changed = createConsole({ service, crypto, operatorKey })
    const request = new Request(`${ORIGIN}/console/projects`, { headers: { cookie } })
    expect((await changed.fetch(request)).headers.get('location')).toContain('sign-in')
  })

  it('the log never holds the values of a webhook', async () => {
    const { signIn, send, text } = await twoProjects()
    const cookie = await signIn()
    await send('/console/webhooks', { url: 'https://a.example/?t=hidden-one', events: '*' }, cookie)
    const log = await text('/console/audit-log', cookie)
    expect(log).toContain('webhook.created')
    expect(log).not.toMatch(/hidden-|whsec_|amk_/)
  })
})

describe('the operator', () => {
  const PAGES = [
    '/console/projects',
    '/console/projects/audit-log',
    '/console/projects/x/keys',
    '/console/projects/x/audit-log',
  ]

  it('creates a project and its first key, and opens it', async () => {
    const { signIn, send, text, service } = await twoProjects()
    const cookie = await signIn(OPERATOR_KEY)
    expect(await text('/console/projects', cookie)).toContain('other shop')
    const made = await send('/console/projects', { name: 'new shop' }, cookie)
    const keys = made.headers.get('location') ?? ''
    const form = { name: 'first', permissions: 'project:admin' }
    const created = await (await send(keys, form, cookie)).text()
    const key = KEY.exec(created)?.[0] ?? ''
    await service.host.authenticate({ key })
    const opened = await send('/console/sign-in', { key, add: 'yes' }, cookie)
    const page = await text('/console/project', cookieOf(opened))
    expect(page).toContain('new shop')
    expect(page).toContain('href="/console/projects"')
    expect(await text(keys.replace('/keys', '/audit-log'), cookie)).toContain('operator')
  })

  it('sees no page of a project without a key of it', async () => {
    const { signIn, get } = await twoProjects()
    const cookie = await signIn(OPERATOR_KEY)
    for (const path of ['/console', '/console/conversations', '/console/keys', '/console/project'])
      expect((await get(path, cookie)).headers.get('location')).toBe('/console/projects')
  })

  it.each(PAGES)('alone opens %s', async (path) => {
    const { signIn, get, post } = await twoProjects()
    expect((await get(path, await signIn())).status).toBe(404)
    const wrong = await post('/console/sign-in', { key: `${OPERATOR_KEY}x` })
    expect(wrong.status).toBe(401)
  })

  it('cannot sign in if no operator key is set', async () => {
    const { post } = await scene()
    for (const key of [OPERATOR_KEY, ''])
      expect((await post('/console/sign-in', { key })).status).toBe(401)
  })

  it('sees the changes of all projects in one log, and filters them', async () => {
    const { signIn, send, text, projectId, other } = await twoProjects()
    const cookie = await signIn(OPERATOR_KEY)
    const made = await send('/console/projects', { name: 'third <shop>' }, cookie)
    const form = { name: 'first', permissions: 'project:admin' }
    await send(made.headers.get('location') ?? '', form, cookie)
    const page = await text('/console/projects/audit-log', cookie)
    expect(page).toContain('<title>Audit log of all projects · Agent Messaging</title>')
    for (const name of ['third &lt;shop&gt;', 'other shop', 'test'])
      expect(page).toContain(`<bdi>${name}</bdi>`)
    for (const id of [projectId, other.id])
      expect(page).toContain(`href="/console/projects/${id}/audit-log"`)
    const filtered = await text(
      '/console/projects/audit-log?action=key.created&actor=operator',
      cookie,
    )
    expect(filtered.match(/<th scope="row">/g)).toHaveLength(1)
    expect(filtered).toContain('third &lt;shop&gt;')
    expect(filtered).not.toContain('other shop')
    expect(await text('/console/projects', cookie)).toContain('href="/console/projects/audit-log"')
  })

  it('gets an answer for a project that does not exist', async () => {
    const { signIn, get, send } = await twoProjects()
    const cookie = await signIn(OPERATOR_KEY)
    expect((await get('/console/projects/x/keys', cookie)).status).toBe(404)
    const form = { name: 'k', permissions: 'project:admin' }
    expect((await send('/console/projects/x/keys', form, cookie)).status).toBe(404)
  })
})
