import { PERMISSIONS, type Permission } from '@org/agent-messaging-core'
import { success, defaultLimits } from '@org/agent-messaging-core/runtime'
import { orUndefined } from '@org/agent-messaging-core/host'
import { refusalOf } from '@org/agent-messaging-testing'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { cookieOf, ORIGIN, scene } from '../test/scene.js'
import { createConsole } from './console.js'
import { isConsolePath } from './path.js'
import { localIso } from './parts/zone.js'

const HOUR = 3_600_000

describe('signing in', () => {
  it('exchanges an API key for an HttpOnly cookie that expires', async () => {
    const { post, get, key } = await scene()
    const answer = await post('/console/sign-in', { key, to: '/console/agents' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/agents'])
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/Max-Age=43200; Path=\/console; HttpOnly; SameSite=Lax$/)
    expect(cookie).not.toContain(key)
    const page = await get('/console/agents', cookieOf(answer))
    expect(page.status).toBe(200)
    expect(await page.text()).not.toContain(key)
  })

  it('limits the cookie to https if the public URL has https', async () => {
    const { post, key } = await scene({ publicUrl: 'https://agents.example.com' })
    const answer = await post('/console/sign-in', { key }, { origin: 'https://agents.example.com' })
    expect(answer.headers.get('set-cookie')).toContain('; Secure')
  })

  it.each(['', 'amk_wrong', 'no-such-key-at-all-anywhere'])(
    'refuses the key %j, and sets no cookie',
    async (key) => {
      const { post } = await scene()
      const answer = await post('/console/sign-in', { key })
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
      expect(await answer.text()).toContain('This is not a valid API key')
    },
  )

  it('leads to the requested page even after a mistyped key', async () => {
    const { post } = await scene()
    const page = await (
      await post('/console/sign-in', { key: 'amk_wrong', to: '/console/agents?x=1' })
    ).text()
    expect(page).toContain('name="to" value="/console/agents?x=1"')
  })

  it.each([
    'https://evil.example',
    '//evil.example',
    '/v1/agents',
    '/consoles',
    'javascript:alert(1)',
  ])('does not redirect to %s', async (to) => {
    const { post, key } = await scene()
    expect((await post('/console/sign-in', { key, to })).headers.get('location')).toBe('/console')
  })

  it('answers 503 while the storage is unavailable', async () => {
    const { post, get, key, storage, signIn } = await scene()
    const cookie = await signIn()
    storage.fail('credentials.findByDigest', { times: 2 })
    expect((await post('/console/sign-in', { key })).status).toBe(503)
    expect((await get('/console', cookie)).status).toBe(503)
    expect((await get('/console', cookie)).status).toBe(200)
  })
})

describe('a sign-in link', () => {
  it('works once', async () => {
    const { get, pages, key } = await scene()
    const link = pages.signInPath(key)
    expect(link).not.toContain(key)
    const first = await get(link)
    expect([first.status, first.headers.get('location')]).toEqual([303, '/console'])
    expect((await get('/console', cookieOf(first))).status).toBe(200)
    expect((await get(link)).status).toBe(401)
  })

  it('works again in the signed-in browser until the session ends', async () => {
    const { get, pages, key, jump } = await scene()
    const link = pages.signInPath(key)
    const cookie = cookieOf(await get(link))
    const again = await get(link, cookie)
    expect([again.status, again.headers.get('location')]).toEqual([303, '/console'])
    await jump(12 * HOUR)
    expect((await get(link, cookie)).status).toBe(401)
  })

  it('works for 15 minutes', async () => {
    const { get, pages, key, clock } = await scene()
    const link = pages.signInPath(key)
    await clock.advance(HOUR / 4)
    expect((await get(link)).status).toBe(401)
  })

  it('is not used up by HEAD', async () => {
    const { pages, get, key } = await scene()
    const link = pages.signInPath(key)
    const head = await pages.fetch(new Request(ORIGIN + link, { method: 'HEAD' }))
    expect([head.status, head.headers.get('set-cookie')]).toEqual([200, null])
    expect((await get(link)).status).toBe(303)
  })

  it('cannot be guessed', async () => {
    const { get } = await scene()
    expect((await get('/console/enter?code=x')).status).toBe(401)
    expect((await get('/console/enter')).status).toBe(401)
  })
})

describe('a session', () => {
  const isOver = async (answer: Response): Promise<void> => {
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      '/console/sign-in?to=%2Fconsole%2Fagents',
    ])
  }

  it('ends with its key', async () => {
    const { get, signIn, service, projectId, apiKey } = await scene()
    const cookie = await signIn()
    expect((await get('/console/agents', cookie)).status).toBe(200)
    await service.keys.revoke({ projectId, keyId: apiKey.id })
    await isOver(await get('/console/agents', cookie))
  })

  it('ends after 12 hours, even if the browser keeps the cookie', async () => {
    const { get, signIn, jump } = await scene()
    const cookie = await signIn()
    await jump(12 * HOUR - 1)
    expect((await get('/console/agents', cookie)).status).toBe(200)
    await jump(1)
    await isOver(await get('/console/agents', cookie))
  })

  it('that has ended changes nothing, says so, and leads back to the form', async () => {
    const { get, post, service, projectId } = await scene()
    const headers = { origin: ORIGIN, referer: `${ORIGIN}/console/agents?cursor=1&notice=started` }
    const answer = await post('/console/agents/bot/stop', {}, headers)
    const signIn = answer.headers.get('location') ?? ''
    expect([answer.status, signIn]).toEqual([
      303,
      '/console/sign-in?notice=undone&to=%2Fconsole%2Fagents%3Fcursor%3D1',
    ])
    expect(await (await get(signIn)).text()).toContain('nothing was done')
    expect((await service.agents.get({ projectId, agent: 'bot' })).desiredState).toBe('running')
  })

  it('does not start from a forged or altered cookie', async () => {
    const { get, signIn } = await scene()
    const cookie = await signIn()
    for (const forged of ['', 'agent_messaging_console=x', `${cookie.slice(0, -4)}AAAA`])
      await isOver(await get('/console/agents', forged))
  })

  it('ends by signing out, in every process and for copies of its cookie', async () => {
    const { get, post, signIn, service, crypto } = await scene()
    const cookie = await signIn()
    const other = await signIn()
    const answer = await post('/console/sign-out', {}, { origin: ORIGIN, cookie })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/sign-in'])
    expect(answer.headers.get('set-cookie')).toMatch(
      /^agent_messaging_console=; Max-Age=0; Path=\/console/,
    )
    await isOver(await get('/console/agents', cookie))
    const elsewhere = createConsole({ service, crypto })
    await isOver(
      await elsewhere.fetch(new Request(`${ORIGIN}/console/agents`, { headers: { cookie } })),
    )
    expect((await get('/console/agents', other)).status).toBe(200)
    expect((await post('/console/sign-out', {})).status).toBe(303)
  })

  it('ends only in this browser while the storage is unavailable, and says so', async () => {
    const { post, signIn, storage } = await scene()
    const cookie = await signIn()
    storage.fail('credentials.endSignIn')
    const answer = await post('/console/sign-out', {}, { origin: ORIGIN, cookie })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
      503,
      expect.stringContaining('Max-Age=0'),
    ])
    expect(await answer.text()).toContain('signed out in this browser')
  })

  it('makes htmx leave the whole page after the session has ended', async () => {
    const { pages } = await scene()
    const answer = await pages.fetch(
      new Request(`${ORIGIN}/console/agents`, { headers: { 'hx-request': 'true' } }),
    )
    expect(answer.headers.get('hx-redirect')).toBe('/console/sign-in?to=%2Fconsole%2Fagents')
  })
})

/** All permissions except one, and except the one that reads everything. */
const without = (permission: string) =>
  PERMISSIONS.filter((one) => one !== permission && one !== 'project:read')

describe('permissions', () => {
  it.each([
    ['/console/agents', 'project:agents'],
    ['/console/conversations/sessions', 'project:message'],
    ['/console/webhooks', 'project:webhooks'],
    ['/console/deliveries', 'project:webhooks'],
    ['/console/agents/bot/delete', 'project:agents'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/delete', 'project:webhooks'],
    ['/console/recover', 'project:webhooks'],
    ['/console/sessions/bot/live?session=s', 'project:message'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/rotate', 'project:webhooks'],
    ['/console/recoveries/00000000-0000-7000-8000-000000000000', 'project:webhooks'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/edit', 'project:webhooks'],
    ['/console/sessions/bot/erase?session=s', 'project:erase'],
    ['/console/catcher', 'project:webhooks'],
  ])('GET %s requires %s', async (path, permission) => {
    const { get, signIn } = await scene({
      permissions: without(permission),
    })
    const answer = await get(path, await signIn())
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain(`lacks the permission ${permission}`)
  })

  it.each([
    ['/console/agents/bot/stop', 'project:agents'],
    ['/console/sessions/bot?session=s', 'project:message'],
    ['/console/agents/bot/delete', 'project:agents'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/delete', 'project:webhooks'],
    ['/console/webhooks', 'project:webhooks'],
    ['/console/deliveries/00000000-0000-7000-8000-000000000000/redeliver', 'project:webhooks'],
    ['/console/deliveries/00000000-0000-7000-8000-000000000000/skip', 'project:webhooks'],
    ['/console/recover', 'project:webhooks'],
    ['/console/recover/events', 'project:webhooks'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/rotate', 'project:webhooks'],
    ['/console/recoveries/00000000-0000-7000-8000-000000000000/cancel', 'project:webhooks'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/edit', 'project:webhooks'],
    ['/console/sessions/bot/erase?session=s', 'project:erase'],
  ])('POST %s requires %s', async (path, permission) => {
    const { post, signIn } = await scene({
      permissions: without(permission),
    })
    expect((await post(path, {}, { origin: ORIGIN, cookie: await signIn() })).status).toBe(403)
  })

  it.each<[Permission, readonly string[]]>([
    ['project:message', ['Failed messages']],
    ['project:agents', ['Agents running']],
    ['project:webhooks', ['Backlog', 'Status codes', 'mine.example']],
  ])('the overview requires %s for its parts', async (permission, words) => {
    for (const isThere of [true, false]) {
      const { get, signIn, service, projectId } = await scene({
        permissions: isThere ? [permission] : without(permission),
      })
      await service.webhooks.create({
        projectId,
        url: 'https://mine.example/hook',
        events: ['*'],
      })
      const page = await (await get('/console', await signIn())).text()
      expect(words.map((word) => page.includes(word))).toEqual(words.map(() => isThere))
    }
  })

  it('hide links to messages and sessions that a key cannot open', async () => {
    for (const isAllowed of [true, false]) {
      const { get, signIn, service, projectId, clock } = await scene({
        permissions: isAllowed ? PERMISSIONS : without('project:message'),
      })
      const hook = { projectId, url: 'https://mine.example/hook', events: ['*'] as const }
      await service.webhooks.create(hook)
      const cookie = await signIn()
      const links = async (path: string) =>
        (await (await get(path, cookie)).text()).match(
          /href="\/console\/(conversations|sessions|messages)/g,
        )
      expect((await links('/console/deliveries')) !== null).toBe(isAllowed)
      const message = { projectId, agent: 'bot', sessionId: 's', message: 'hi', waitMs: 0 }
      await service.messages.send(message)
      await clock.advance(100)
      const { data } = await service.deliveries.list({ projectId, limit: 1 })
      expect(data).toHaveLength(1)
      expect((await links(`/console/deliveries/${data[0]?.id}`)) !== null).toBe(isAllowed)
      expect((await links('/console/agents')) !== null).toBe(isAllowed)
    }
  })

  it('another project’s rows answer 404', async () => {
    const { get, post, signIn, service } = await scene()
    const { id: projectId } = await service.projects.create({ name: 'other' })
    const { agent } = await service.agents.create({
      projectId,
      name: 'theirs',
      runtime: { kind: 'fake' },
    })
    const made = await service.webhooks.create({
      projectId,
      url: 'https://theirs.example/hook',
      events: ['*'],
    })
    const cookie = await signIn()
    const { webhook } = made
    expect((await get(`/console/webhooks/${webhook.id}`, cookie)).status).toBe(404)
    expect(
      (await post(`/console/webhooks/${webhook.id}/pause`, {}, { origin: ORIGIN, cookie })).status,
    ).toBe(404)
    expect(
      (await post(`/console/agents/${agent.id}/start`, {}, { origin: ORIGIN, cookie })).status,
    ).toBe(404)
    for (const path of [
      `webhooks/${webhook.id}/delete`,
      `webhooks/${webhook.id}/edit`,
      `agents/${agent.id}/delete`,
      `sessions/${agent.id}/erase`,
    ]) {
      expect((await get(`/console/${path}`, cookie)).status).toBe(404)
      const form = { name: 'theirs', url: 'https://theirs.example', events: '*' }
      expect((await post(`/console/${path}`, form, { origin: ORIGIN, cookie })).status).toBe(404)
    }
    for (const path of [
      `recover?webhook=${webhook.id}`,
      `webhooks/${webhook.id}/rotate`,
      `sessions/${agent.id}/live?session=s`,
    ])
      expect((await get(`/console/${path}`, cookie)).status, path).toBe(404)
    expect(await (await get('/console', cookie)).text()).not.toContain('theirs.example')
  })
})

describe('a key with only project:read', () => {
  it('sees each page without a form or a link that changes something', async () => {
    const made = await scene({ permissions: ['project:read'] })
    const { get, signIn, service, projectId, clock } = made
    const hook = { projectId, url: 'https://mine.example/hook', events: ['*'] as const }
    const { webhook } = await service.webhooks.create(hook)
    const cookie = await signIn()
    const send = async (message: string) => {
      const sent = { projectId, agent: 'bot', sessionId: message, message, waitMs: 0 }
      const { message: stored } = await service.messages.send(sent)
      await clock.advance(100)
      return stored.id
    }
    const [failed, asked] = [await send('fail'), await send('ask')]
    const [delivery] = (await service.deliveries.list({ projectId, limit: 1 })).data
    const recovery = await service.recoveries.start({ projectId, filter: {} })
    for (const path of [
      '',
      '/agents',
      '/conversations',
      '/conversations?agent=bot',
      '/sessions/bot?session=fail',
      `/messages/${failed}`,
      '/questions',
      `/questions/${asked}`,
      '/webhooks',
      `/webhooks/${webhook.id}`,
      '/deliveries',
      `/deliveries/${delivery?.id}`,
      '/recover?status=pending',
      `/recoveries/${recovery.id}`,
      '/failures',
      '/usage',
      '/agents/bot',
      '/people?id=u',
      '/questions/answered',
      '/webhooks/events',
      '/conversations/sessions?agent=bot',
      '/recover?status=delivered',
      '/catcher',
      '/keys',
      '/audit-log',
    ]) {
      const page = await get(`/console${path}`, cookie)
      expect([path, page.status]).toEqual([path, 200])
      const text = await page.text()
      const changes = [
        ...text.matchAll(/<form method="post" action="([^"]*)"/g),
        ...text.matchAll(/href="([^"]*\/(?:edit|rotate|disable|delete|erase|withdraw|revoke))/g),
      ].map(([, to = '']) => to)
      expect([path, changes.filter((to) => !/\/(theme|sign-out|switch)$/.test(to))]).toEqual([
        path,
        [],
      ])
    }
  })
})

describe('a key with only project:message', () => {
  const only = { permissions: ['project:message'] } as const
  const send = async ({ service, projectId, clock }: Awaited<ReturnType<typeof scene>>) => {
    await service.messages.send({
      projectId,
      agent: 'bot',
      sessionId: 'first',
      message: 'hello',
      waitMs: 0,
    })
    await clock.advance(100)
  }

  it('sees no list of agents, and the sessions of an agent that it names', async () => {
    const made = await scene(only)
    await send(made)
    const cookie = await made.signIn()
    const page = await (await made.get('/console/conversations/sessions', cookie)).text()
    expect(page).toContain('Choose an agent')
    expect(page).not.toContain('bot')
    expect(
      await (await made.get('/console/conversations/sessions?agent=bot', cookie)).text(),
    ).toContain('/console/sessions/bot?session=first')
  })

  it('does not learn the name of an agent from its id', async () => {
    const made = await scene({ permissions: [...only.permissions, 'project:erase'] })
    await send(made)
    const { id } = await made.service.agents.get({ projectId: made.projectId, agent: 'bot' })
    const cookie = await made.signIn()
    for (const path of [
      `conversations/sessions?agent=${id}`,
      `sessions/${id}?session=first`,
      `sessions/${id}/erase?session=first`,
    ]) {
      const page = await made.get(`/console/${path}`, cookie)
      expect(page.status).toBe(200)
      expect(await page.text()).not.toContain('bot')
    }
  })
})

describe('requests from other sites', () => {
  it.each(['application/json', 'text/html', 'application/octet-stream'])(
    'are refused with the content type %s',
    async (type) => {
      const { pages, signIn, service, projectId } = await scene()
      const headers = {
        cookie: await signIn(),
        origin: 'https://evil.example',
        'content-type': type,
      }
      const request = new Request(`${ORIGIN}/console/agents/bot/stop`, { method: 'POST', headers })
      expect((await pages.fetch(request)).status).toBe(403)
      const agent = await service.agents.get({ projectId, agent: 'bot' })
      expect(agent.desiredState).toBe('running')
    },
  )

  it.each<[string, Record<string, string>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['a null origin', { origin: 'null' }],
    ['no origin', {}],
    ['Sec-Fetch-Site cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site same-site', { 'sec-fetch-site': 'same-site' }],
  ])('are refused with %s', async (_, headers) => {
    const { post, signIn, service, projectId } = await scene()
    const cookie = await signIn()
    const answer = await post('/console/agents/bot/stop', {}, { ...headers, cookie })
    expect(answer.status).toBe(403)
    expect(
      (await post('/console/agents/bot/delete', { name: 'bot' }, { ...headers, cookie })).status,
    ).toBe(403)
    expect((await service.agents.get({ projectId, agent: 'bot' })).desiredState).toBe('running')
  })

  it.each<[string, Record<string, string>]>([
    ['its own origin', { origin: ORIGIN }],
    ['Sec-Fetch-Site same-origin', { 'sec-fetch-site': 'same-origin' }],
  ])('are distinguished from our own by %s', async (_, headers) => {
    const { post, signIn } = await scene()
    expect(
      (await post('/console/agents/bot/stop', {}, { ...headers, cookie: await signIn() })).status,
    ).toBe(303)
  })
})

describe('answers', () => {
  it('let the browser load and run only this server’s files, and store nothing', async () => {
    const { get, signIn } = await scene()
    for (const path of ['/console', '/console/sign-in', '/console/no-such-page']) {
      const { headers } = await get(path, await signIn())
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('same-origin')
    }
  })

  it('have no inline script and no inline style', async () => {
    const { get, signIn } = await scene()
    const page = await (await get('/console', await signIn())).text()
    expect(page).toMatch(/^<!doctype html>/)
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)| on\w+=/)
  })

  it('name assets by an address that changes with their contents', async () => {
    const { get } = await scene()
    const page = await (await get('/console/sign-in')).text()
    const addresses = [...page.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(
      ([, address = '']) => address,
    )
    expect(addresses).toHaveLength(4)
    for (const address of addresses) {
      const asset = await get(address)
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ])
    }
    expect((await get('/console/assets/__proto__')).status).toBe(404)
  })

  it('escape user input', async () => {
    const { get, post, signIn, clock } = await scene()
    const cookie = await signIn()
    const evil = '<script>alert(1)</script>"\''
    await post(
      `/console/sessions/bot?session=${encodeURIComponent(evil)}`,
      { message: evil },
      { origin: ORIGIN, cookie },
    )
    await clock.advance(100)
    for (const path of [
      '/console/conversations/sessions',
      `/console/sessions/bot?session=${encodeURIComponent(evil)}`,
    ]) {
      const page = await (await get(path, cookie)).text()
      expect(page).toContain('&lt;script&gt;alert(1)')
      expect(page).not.toContain('<script>alert')
    }
  })

  it.each([
    '/console/sessions/bot?session=no-such-session',
    '/console/sessions/bot?session=%00',
    '/console/sessions/bot',
    '/console/sessions/nobody?session=s',
    '/console/conversations/sessions?agent=nobody',
    '/console/agents/nobody/delete',
    '/console/webhooks/not-an-id/delete',
    '/console/webhooks/not-an-id/rotate',
    '/console/recover?webhook=00000000-0000-7000-8000-000000000000',
    '/console/recoveries/not-an-id',
    '/console/webhooks/not-an-id',
    '/console/deliveries/00000000-0000-7000-8000-000000000000',
    '/console/deliveries/%00',
    '/console/nowhere',
  ])('are 404 for %s', async (path) => {
    const { get, signIn } = await scene()
    expect((await get(path, await signIn())).status).toBe(404)
  })

  it('ignore illegal values in the address', async () => {
    const { get, signIn, thrown } = await scene()
    const cookie = await signIn()
    for (const query of [
      'cursor=x',
      'status=x&event=y&answer=z&webhook=%00&from=yesterday&to=2026-99-99',
      'range=__proto__',
      'notice=__proto__',
      // A browser sends such years while a person types into a field for a time.
      'from=0202-11-23T08:15&to=9999-12-31T23:59',
      'from=0000-01-01T00:00&to=0001-01-01T00:00:00Z',
    ]) {
      for (const path of [
        '/console',
        '/console/deliveries',
        '/console/agents',
        '/console/webhooks',
        '/console/conversations/sessions',
        '/console/conversations',
        '/console/recover',
      ]) {
        const zoned = `${cookie}; agent_messaging_zone=Europe/Berlin`
        const address = `${path}${path.includes('?') ? '&' : '?'}${query}`
        expect((await get(address, zoned)).status, address).toBe(200)
      }
    }
    expect(thrown).toEqual([])
  })

  it('are 400 for a malformed form', async () => {
    const { post, pages, thrown } = await scene()
    const headers = { origin: ORIGIN, 'content-type': 'multipart/form-data; boundary=x' }
    const answer = await pages.fetch(
      new Request(`${ORIGIN}/console/sign-in`, { method: 'POST', headers, body: 'garbage' }),
    )
    expect([answer.status, thrown]).toEqual([400, []])
    expect((await post('/console/sign-in', { key: 'x'.repeat(1_100_000) })).status).toBe(413)
  })

  it('pass no illegal id to the storage', async () => {
    const { post, signIn, storage, projectId } = await scene()
    const asked = vi.spyOn(storage.agents, 'get')
    expect(
      (await post('/console/agents/a%00b/stop', {}, { origin: ORIGIN, cookie: await signIn() }))
        .status,
    ).toBe(404)
    expect(asked.mock.calls).toEqual([[projectId, '00000000-0000-0000-0000-000000000000']])
  })

  it.each(['/console/sign-in', '/console/agents/bot/stop'])(
    'report no error if the sender of a form to %s leaves early',
    async (path) => {
      const { pages, thrown } = await scene()
      const left = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
      const headers = { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' }
      const body = new ReadableStream({ start: (form) => form.error(left) })
      const request = new Request(ORIGIN + path, {
        method: 'POST',
        headers,
        body,
        duplex: 'half',
      } as RequestInit)
      expect([(await pages.fetch(request)).status, thrown]).toEqual([400, []])
    },
  )

  it('accept the longest message in a form, and name the problem of a longer one', async () => {
    const { post, signIn } = await scene()
    const headers = { origin: ORIGIN, cookie: await signIn() }
    const send = (length: number) =>
      post(
        '/console/conversations/sessions?agent=bot',
        { agent: 'bot', sessionId: 's', message: '中'.repeat(length) },
        headers,
      )
    expect((await send(defaultLimits.messageLength)).status).toBe(303)
    expect(await (await send(100_000)).text()).toContain(
      'message must have at most 65536 characters',
    )
    const refused = await send(1_000_000)
    expect([refused.status, (await refused.text()).includes('The form is too large')]).toEqual([
      413,
      true,
    ])
  })

  it('are 503 while the storage is unavailable', async () => {
    const { get, signIn, storage } = await scene()
    const cookie = await signIn()
    for (const [method, path] of [
      ['counts.read', ''],
      ['agents.list', '/agents'],
      ['webhooks.list', '/webhooks'],
      ['deliveries.list', '/deliveries'],
    ] as const) {
      storage.fail(method)
      expect((await get(`/console${path}`, cookie)).status).toBe(503)
    }
  })
})

it('the overview counts a backlog of over 100', async () => {
  const { get, signIn, service, projectId, clock } = await scene()
  const { webhook } = await service.webhooks.create({
    projectId,
    url: 'https://mine.example/hook',
    events: ['message.responded'],
  })
  await service.webhooks.disable({ projectId, webhookId: webhook.id })
  async function send(count: number): Promise<void> {
    for (let i = 0; i < count; i++)
      await service.messages.send({
        projectId,
        agent: 'bot',
        sessionId: `s${i}`,
        message: 'hello',
        waitMs: 0,
      })
    await clock.advance(HOUR / 30)
  }
  const cookie = await signIn()
  const overview = async () => (await get('/console', cookie)).text()
  await send(1)
  expect(await overview()).toContain('1 by disabled')
  await send(100)
  expect(await overview()).toContain('101 by disabled')
})

it('the overview has the people of today so far, and those of yesterday', async () => {
  const { get, signIn, service, projectId, storage, clock, jump } = await scene()
  const tile = async () => {
    const page = await (await get('/console', await signIn())).text()
    const cells = page.slice(page.indexOf('People today')).match(/<dd[^]*?<\/dd>/g) ?? []
    return cells.slice(0, 2).map((cell) => cell.replaceAll(/<[^>]*>/g, ''))
  }
  for (const endUserId of ['ann', 'bob', 'bob'])
    await service.messages.send({
      projectId,
      agent: 'bot',
      sessionId: endUserId,
      message: 'hello',
      executionPrincipal: { type: 'end_user', endUserId },
      waitMs: 0,
    })
  expect(await tile()).toEqual(['2', 'since 00:00 UTC; the list has their messages'])
  await jump(25 * HOUR)
  await clock.advance(60_000)
  expect(await tile()).toEqual(['0', 'since 00:00 UTC, yesterday 2; the list has their messages'])
  storage.counts.people = () =>
    Promise.resolve(success({ people: 10_000, ofAgents: {}, next: 'x' }))
  const reading = tile()
  await clock.advance(0)
  expect((await reading)[0]).toBe('at least 10,000')
})

describe('with more than 100 agents', () => {
  async function crowd() {
    const all = await scene()
    for (let i = 0; i < 100; i++)
      await all.service.agents.create({
        projectId: all.projectId,
        name: `a${i}`,
        runtime: { kind: 'fake' },
      })
    const cookie = await all.signIn()
    return async (path: string) => (await all.get(path, cookie)).text()
  }

  it('the overview counts all agents', async () => {
    const pageOf = await crowd()
    expect(await pageOf('/console')).toContain('1 of 101')
  })

  it('the sessions page offers all agents, and selects the one that it shows', async () => {
    const pageOf = await crowd()
    const page = await pageOf('/console/conversations/sessions?agent=bot')
    expect(page).toContain('<option value="bot" selected="">')
    expect(page).toContain('<option value="a99">')
  })
})

it('the form suggests a name only for the first session', async () => {
  const { get, signIn, service, projectId, clock } = await scene()
  const cookie = await signIn()
  const suggested = async () =>
    /id="sessionId"[^>]* value="([^"]*)"/.exec(
      await (await get('/console/conversations/sessions?agent=bot', cookie)).text(),
    )?.[1]
  expect(await suggested()).toBe('first')
  await service.messages.send({
    projectId,
    agent: 'bot',
    sessionId: 'first',
    message: 'hello',
    waitMs: 0,
  })
  await clock.advance(100)
  expect(await suggested()).toBe('')
})

describe('deleting an agent', () => {
  const path = '/console/agents/bot/delete'
  const isThere = async ({ service, projectId }: Awaited<ReturnType<typeof scene>>) =>
    (await orUndefined(service.agents.get({ projectId, agent: 'bot' }))) !== undefined

  it('requires its typed name', async () => {
    const made = await scene()
    const headers = { origin: ORIGIN, cookie: await made.signIn() }
    for (const name of ['', 'BOT', 'another']) {
      const answer = await made.post(path, { name }, headers)
      expect([answer.status, await isThere(made)]).toEqual([400, true])
    }
    const answer = await made.post(path, { name: ' bot ' }, headers)
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      '/console/agents?notice=agentDeleted',
    ])
    expect(await isThere(made)).toBe(false)
  })

  it('requires a second confirmation while messages are open', async () => {
    const made = await scene()
    const headers = { origin: ORIGIN, cookie: await made.signIn() }
    await made.service.messages.send({
      projectId: made.projectId,
      agent: 'bot',
      sessionId: 's',
      message: 'never',
      waitMs: 0,
    })
    const answer = await made.post(path, { name: 'bot' }, headers)
    expect([answer.status, await isThere(made)]).toEqual([400, true])
    expect(await answer.text()).toContain('This agent has messages that are waiting or running')
    expect((await made.post(path, { name: 'bot', force: 'yes' }, headers)).status).toBe(303)
    expect(await isThere(made)).toBe(false)
  })
})

describe('erasing a session', () => {
  const path = '/console/sessions/bot/erase?session=a%2Fb'
  async function withSession(message: string) {
    const made = await scene()
    const { service, projectId, clock } = made
    await service.messages.send({ projectId, agent: 'bot', sessionId: 'a/b', message, waitMs: 0 })
    await clock.advance(100)
    const headers = { origin: ORIGIN, cookie: await made.signIn() }
    const erase = (form: Record<string, string> = {}) => made.post(path, form, headers)
    const sessions = async () =>
      (await service.sessions.list({ projectId, agent: 'bot', limit: 9 })).data.length
    return { ...made, erase, sessions, cookie: headers.cookie }
  }

  it('is confirmed on a page that the conversation links to', async () => {
    const { get, erase, sessions, cookie } = await withSession('hello')
    expect(await (await get('/console/sessions/bot?session=a%2Fb', cookie)).text()).toContain(
      `href="${path}"`,
    )
    expect(await (await get(path, cookie)).text()).toContain(`action="${path}"`)
    expect(await sessions()).toBe(1)
    expect((await erase()).headers.get('location')).toBe(
      '/console/conversations/sessions?agent=bot&notice=sessionErased',
    )
    expect(await sessions()).toBe(0)
    expect((await erase()).status).toBe(404)
  })

  it('requires a second confirmation while messages are open', async () => {
    const { erase, sessions } = await withSession('never')
    const refused = await erase()
    expect([refused.status, await refused.text(), await sessions()]).toEqual([
      400,
      expect.stringContaining('name="force"'),
      1,
    ])
    expect((await erase({ force: 'yes' })).status).toBe(303)
    expect(await sessions()).toBe(0)
  })
})

it('editing a webhook keeps the settings that the form does not show', async () => {
  const { get, post, signIn, service, projectId } = await scene()
  const headers = { 'x-api-key': 'k' }
  const made = await service.webhooks.create({
    projectId,
    url: 'https://mine.example/old',
    events: ['*'],
    description: 'mine',
    headers,
  })
  const ref = { projectId, webhookId: made.webhook.id }
  const cookie = await signIn()
  const path = `/console/webhooks/${ref.webhookId}/edit`
  const form = await (await get(path, cookie)).text()
  for (const value of ['https://mine.example/old', 'mine'])
    expect(form).toContain(`value="${value}"`)
  const edit = (fields: Record<string, string>) => post(path, fields, { origin: ORIGIN, cookie })
  const wrong = await edit({ url: 'https://mine.example/typed' })
  expect([wrong.status, await wrong.text()]).toEqual([
    400,
    expect.stringMatching(/events must [^]*mine\.example\/typed/),
  ])
  const right = await edit({
    url: 'https://mine.example/new',
    events: 'agent.error',
    description: ' ',
    disableOnGone: 'yes',
    ordering: 'session',
  })
  expect(right.headers.get('location')).toBe(
    `/console/webhooks/${ref.webhookId}?notice=webhookChanged`,
  )
  const changed = await service.webhooks.get(ref)
  expect(changed).toMatchObject({
    url: 'https://mine.example/new',
    events: ['agent.error'],
    disableOnGone: true,
    ordering: 'session',
    headers: { names: ['x-api-key'] },
  })
  expect(changed.description).toBeUndefined()

  const elsewhere = { url: 'https://theirs.example/', events: '*' }
  const refused = await edit(elsewhere)
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringMatching(/headers must [^]*name="dropHeaders"/),
  ])
  expect(form).not.toContain('dropHeaders')
  expect((await edit({ ...elsewhere, dropHeaders: 'yes' })).status).toBe(303)
  const moved = await service.webhooks.get(ref)
  expect([moved.url, moved.headers]).toEqual(['https://theirs.example/', undefined])
})

it('a list cuts a long text between two characters', async () => {
  const { get, post, signIn } = await scene()
  const headers = { origin: ORIGIN, cookie: await signIn() }
  const message = `${'a'.repeat(199)}😀 and more`
  await post('/console/conversations/sessions', { agent: 'bot', sessionId: 's', message }, headers)
  const page = await (await get('/console/conversations', headers.cookie)).text()
  expect(page).toContain(`${'a'.repeat(199)}…`)
  expect(page).not.toContain('\uFFFD')
})

it('a waiting delivery links to the one that blocks it, which can be skipped', async () => {
  const { get, post, signIn, service, projectId, clock, sender } = await scene()
  const url = 'https://mine.example/hook'
  const ordering = 'session'
  const settings = { projectId, url, events: ['message.responded'], ordering } as const
  const { webhook } = await service.webhooks.create(settings)
  sender.hold()
  for (const message of ['one', 'two'])
    await service.messages.send({ projectId, agent: 'bot', sessionId: 's', message })
  await clock.advance(0)
  const listed = await service.deliveries.list({ projectId, limit: 9 })
  const [second, first] = listed.data.map(({ id }) => id)
  const cookie = await signIn()
  const page = async (path: string) => (await get(`/console/${path}`, cookie)).text()
  const link = `href="/console/deliveries/${first}"`
  expect(await page('deliveries')).toMatch(new RegExp(`after [^]*${link}`))
  expect(await page(`deliveries/${second}`)).toMatch(new RegExp(`Waits for[^]*${link}`))
  const path = `/console/deliveries/${first}/skip`
  expect(await page(`deliveries/${first}`)).toContain(`action="${path}"`)
  expect(await page(`webhooks/${webhook.id}`)).toContain('session in order</dt><dd>session')
  const skipped = await post(path, {}, { origin: ORIGIN, cookie })
  expect(skipped.headers.get('location')).toBe(`/console/deliveries/${first}?notice=skipped`)
  expect(await page(`deliveries/${first}`)).toContain('skipped, so that the next delivery')
  expect(await page(`deliveries/${second}`)).not.toContain('Waits for')
})

it('a webhook is deleted after a confirmation', async () => {
  const { get, post, signIn, service, projectId } = await scene()
  const made = await service.webhooks.create({
    projectId,
    url: 'https://mine.example/hook',
    events: ['*'],
  })
  const ref = { projectId, webhookId: made.webhook.id }
  const cookie = await signIn()
  const path = `/console/webhooks/${ref.webhookId}/delete`
  expect(await (await get(path, cookie)).text()).toContain('https://mine.example/hook')
  await service.webhooks.get(ref)
  expect((await post(path, {}, { origin: ORIGIN, cookie })).headers.get('location')).toBe(
    '/console/webhooks?notice=webhookDeleted',
  )
  await refusalOf(service.webhooks.get(ref))
})

describe('recovering', () => {
  async function withDelivered(count: number) {
    const made = await scene()
    const created = await made.service.webhooks.create({
      projectId: made.projectId,
      url: 'https://mine.example/hook',
      events: ['*'],
    })
    const ref = { projectId: made.projectId, webhookId: created.webhook.id }
    for (let i = 0; i < count; i++) await made.service.webhooks.sendTestEvent(ref)
    await made.clock.advance(1_000)
    return {
      ...made,
      ref,
      path: '/console/recover',
      cookie: await made.signIn(),
    }
  }
  /** The hidden fields of the form that starts a recovery. */
  const hidden = (page: string): Record<string, string> =>
    Object.fromEntries(
      [
        ...page
          .slice(page.indexOf('<form method="post" action="/console/recover"'))
          .matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g),
      ].map(([, name = '', value = '']) => [name, value]),
    )

  it('first counts the matches and sends nothing', async () => {
    const { get, path, cookie, sender } = await withDelivered(3)
    const sent = sender.requests.length
    expect(
      await (await get(`${path}?status=delivered&event=webhook.test`, cookie)).text(),
    ).toContain('3 deliveries match')
    expect(
      await (await get(`${path}?status=delivered&to=2001-01-01T00:00`, cookie)).text(),
    ).toContain('No delivery matches')
    const exhausted = await (await get(path, cookie)).text()
    expect(exhausted).toMatch(/Status exhausted\.[^]*status failed also covers/)
    expect(sender.requests).toHaveLength(sent)
  })

  it('lets other requests run between two pages of the count', async () => {
    const { get, path, cookie, storage } = await withDelivered(3)
    const { list } = storage.deliveries
    const ticksAtCall: number[] = []
    let ticks = 0
    vi.spyOn(storage.deliveries, 'list').mockImplementation((filter, page) => {
      ticksAtCall.push(ticks)
      setImmediate(() => ticks++)
      return list(filter, { ...page, limit: 1 })
    })
    expect(await (await get(`${path}?status=delivered`, cookie)).text()).toContain(
      '3 deliveries match',
    )
    expect(ticksAtCall).toEqual([0, 1, 2])
  })

  it('starts a recovery of the server, and shows its progress', async () => {
    const { get, post, path, cookie, clock, sender } = await withDelivered(450)
    const headers = { origin: ORIGIN, cookie }
    const preview = await (await get(`${path}?status=delivered`, cookie)).text()
    const sent = sender.requests.length
    const started = await post(path, hidden(preview), headers)
    expect(started.status).toBe(303)
    const place = started.headers.get('location') ?? ''
    await clock.advance(1_000)
    const last = await (await get(place, cookie)).text()
    expect(last).toMatch(/450 of 450 accepted by <time/)
    expect(last).toMatch(/Matches<\/dt><dd>450</)
    expect(last).not.toContain('hx-trigger="every 1000ms"')
    expect(sender.requests).toHaveLength(sent + 450)
  })

  it.each([
    ['no status', {}],
    ['an unknown webhook id', { status: 'delivered', webhook: 'mine' }],
    ['a time that is none', { status: 'delivered', from: 'yesterday' }],
    ['a message', { status: 'delivered', message: '00000000-0000-7000-8000-000000000000' }],
  ])('never starts for more than the form names: %s', async (_, form) => {
    const { post, path, cookie, ref, service } = await withDelivered(1)
    const answer = await post(path, form, { origin: ORIGIN, cookie })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('cannot select deliveries')
    const { data } = await service.recoveries.list({ projectId: ref.projectId, limit: 9 })
    expect(data).toEqual([])
  })

  it('sends stored events to a webhook, and shows which', async () => {
    const { get, post, cookie, ref, service, clock } = await withDelivered(0)
    const { projectId, webhookId } = ref
    await service.webhooks.disable(ref)
    for (const type of ['order.paid', 'order.lost', 'invoice.paid'])
      await service.events.publish({ projectId, type, data: {} })
    const { webhook } = await service.webhooks.create({
      projectId,
      url: 'https://new.example/hook',
      events: ['order.*', 'invoice.*'],
    })
    const send = (form: Record<string, string>) =>
      post(
        '/console/recover/events',
        { webhook: webhook.id, from: '2001-01-01T00:00', ...form },
        { origin: ORIGIN, cookie },
      )
    for (const form of [{ from: '' }, { to: 'tomorrow' }, { webhook: 'mine' }, { type: 'Order!' }])
      expect((await send(form)).status).toBe(400)
    expect((await service.recoveries.list({ projectId, limit: 9 })).data).toEqual([])
    const places = []
    for (const type of ['order.*', ''])
      places.push((await send({ type })).headers.get('location') ?? '')
    await clock.advance(1_000)
    const pages = await Promise.all(places.map(async (place) => (await get(place, cookie)).text()))
    expect(pages[0]).toMatch(/2 of 2 accepted[^]*https:\/\/new\.example\/hook/)
    expect(pages[1]).toContain('3 of 3 accepted')
    expect(pages[1]).not.toContain(webhookId)
    const list = await (await get('/console/recover', cookie)).text()
    expect(list).toMatch(/Newest recoveries[^]*https:\/\/new\.example\/hook[^]*2 of 2/)
  })

  it('counts and recovers the deliveries of one webhook in a range of local time', async () => {
    const { get, post, path, cookie, ref, service, clock } = await withDelivered(3)
    const zone = 'agent_messaging_zone=Asia/Kolkata'
    const cookies = `${cookie}; ${zone}`
    const local = (ms: number) => localIso(clock.now() + ms, 'Asia/Kolkata').slice(0, 16)
    const query = (from: number, to: number) =>
      `${path}?webhook=${ref.webhookId}&status=delivered&from=${local(from)}&to=${local(to)}`
    const hit = await (await get(query(-HOUR, HOUR), cookies)).text()
    expect(hit).toMatch(/3 deliveries match[^]*Asia\/Kolkata/)
    expect(hit).toContain(`value="${local(-HOUR)}"`)
    expect(await (await get(query(-3 * HOUR, -HOUR), cookies)).text()).toContain('No delivery')
    const started = await post(path, hidden(hit), { origin: ORIGIN, cookie: cookies })
    await clock.advance(1_000)
    const list = await service.recoveries.list({ projectId: ref.projectId, limit: 9 })
    expect(list.data).toMatchObject([{ redelivered: 3, filter: { webhookId: ref.webhookId } }])
    expect(started.headers.get('location')).toContain(list.data[0]?.id)
    expect(await (await get(path, cookies)).text()).toContain('Newest recoveries')
  })

  it.each([
    ['rotate', /3 deliveries wait now[^]*receiver[^]*new secret within that day/],
    ['disable', /3 deliveries wait now[^]*receiver[^]*nothing to do/],
    ['delete', /3 deliveries wait now[^]*cannot undo|cannot undo[^]*3 deliveries wait now/],
  ])('a page asks before %s, and says to how many it happens', async (action, text) => {
    const { get, post, service, signIn, projectId } = await scene()
    const settings = { projectId, url: 'https://mine.example/hook', events: ['*'] } as const
    const { webhook } = await service.webhooks.create(settings)
    const ref = { projectId, webhookId: webhook.id }
    await service.webhooks.update({ ...ref, change: { paused: true } })
    for (let i = 0; i < 3; i++) await service.webhooks.sendTestEvent(ref)
    const cookie = await signIn()
    const path = `/console/webhooks/${webhook.id}/${action}`
    const page = await (await get(path, cookie)).text()
    expect(page).toMatch(text)
    expect(await service.webhooks.get(ref)).toMatchObject({
      secret: webhook.secret,
      status: { kind: 'enabled' },
    })
    expect(page).toContain(`action="${path}"`)
    expect((await post(path, {}, { origin: ORIGIN, cookie })).status).toBeLessThan(400)
  })

  it('tries one, shows its answer, and sends the others when told to', async () => {
    const { get, post, path, cookie, sender, clock } = await withDelivered(3)
    const headers = { origin: ORIGIN, cookie }
    const preview = await (await get(`${path}?status=delivered`, cookie)).text()
    expect(preview).toContain('Try one, then send all')
    const sent = sender.requests.length
    sender.script({ kind: 'refused', statusCode: 500, responseBody: 'no <column>' })
    const started = await post(path, { ...hidden(preview), try: 'first' }, headers)
    const place = (started.headers.get('location') ?? '').replace(/\?.*/, '')
    await clock.advance(1_000)
    expect(sender.requests).toHaveLength(sent + 1)
    const paused = await (await get(place, cookie)).text()
    expect(paused).toMatch(/The receiver answered 500[^]*<q>no &lt;column&gt;<\/q>/)
    expect((await post(`${place}/continue`, {}, headers)).headers.get('location')).toBe(place)
    await clock.advance(1_000)
    expect(sender.requests).toHaveLength(sent + 3)
    expect(await (await get(place, cookie)).text()).toContain('2 of 3 accepted')
  })

  it('cancels a running recovery', async () => {
    const { get, post, path, cookie, service } = await withDelivered(3)
    await service.stop()
    const headers = { origin: ORIGIN, cookie }
    const place = (await post(path, { status: 'delivered' }, headers)).headers.get('location')
    const running = await (await get(place ?? '', cookie)).text()
    expect(running).toContain('hx-trigger="every 1000ms"')
    expect(running).toContain('<button id="cancel">Cancel</button>')
    expect((await post(`${place}/cancel`, {}, headers)).headers.get('location')).toBe(
      `${place}?notice=cancelled`,
    )
    expect(await (await get(place ?? '', cookie)).text()).toContain('>cancelled<')
    expect((await post(`${place}/cancel`, {}, headers)).status).toBe(400)
  })
})

describe('the live stream of a session', () => {
  async function eventsOf(answer: Response, count: number) {
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while ([...text.matchAll(/^data: /gm)].length < count)
      text += (await reader?.read())?.value ?? ''
    await reader?.cancel()
    return [...text.matchAll(/^data: (.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as { id: string; version: string; html: string },
    )
  }

  it('has what differs from the page, and then the answer as the agent writes it', async () => {
    const { get, post, signIn, clock, runtime } = await scene()
    const headers = { origin: ORIGIN, cookie: await signIn() }
    const path = '/console/sessions/bot?session=s'
    await post(path, { message: '**one**' }, headers)
    await clock.advance(100)
    await post(path, { message: 'never' }, headers)
    await clock.advance(100)
    const page = await (await get(path, headers.cookie)).text()
    const versions = [...page.matchAll(/id="turn-([^"]*)" data-version="([^"]*)"/g)]
    expect(versions.map(([, , version]) => version)).toEqual(['responded.1', 'running.1'])
    const [known] = versions.map(([, id, version]) => `${id}:${version}`)
    const live = await get(`/console/sessions/bot/live?session=s&known=${known}`, headers.cookie)
    expect(live.headers.get('content-type')).toContain('text/event-stream')
    runtime.requests.at(-1)?.emit('**Hello')
    runtime.requests.at(-1)?.emit(' you** <b>')
    const [running, partial] = await eventsOf(live, 2)
    expect(running?.version).toBe('running.1')
    expect(partial?.html).toContain('<strong>Hello you</strong> &lt;b&gt;')
    expect(partial?.id).toBe(running?.id)
    const all = await get('/console/sessions/bot/live?session=s', headers.cookie)
    expect((await eventsOf(all, 2)).map(({ version }) => version)).toEqual([
      'responded.1',
      'running.1',
    ])
    const raw = await (await get(`${path}&view=raw`, headers.cookie)).text()
    expect(raw).toContain('>**one**</p>')
    expect(page).toContain('<p><strong>one</strong></p>')
  })
})

describe('the conversation of a session', () => {
  it.each([
    '..',
    '.',
    'a/b',
    '../../webhooks',
    '100%',
    '%2F',
    '?x=1&y#z',
    "it's (1)!*",
    'ü 漢',
    '+',
  ])('%s opens from its link', async (sessionId) => {
    const { get, post, signIn, clock, key } = await scene()
    const headers = { origin: ORIGIN, cookie: await signIn() }
    await post(
      '/console/conversations/sessions',
      { agent: 'bot', sessionId, message: 'hello' },
      headers,
    )
    await clock.advance(100)
    const list = await (await get('/console/conversations/sessions', headers.cookie)).text()
    const [, link = ''] = /href="(\/console\/sessions\/bot[^"]*)"/.exec(list) ?? []
    // Parses the link as a browser does.
    const { pathname, search } = new URL(link.replaceAll('&amp;', '&'), ORIGIN)
    expect((await get(pathname + search, headers.cookie)).status).toBe(200)
    const signedOut = await get(pathname + search)
    const form = {
      key,
      to: new URL(signedOut.headers.get('location') ?? '', ORIGIN).searchParams.get('to') ?? '',
    }
    expect((await post('/console/sign-in', form)).headers.get('location')).toBe(pathname + search)
  })
})

it('a message links to its deliveries, whose attempts show the URL without its query', async () => {
  const { get, post, signIn, clock, service, projectId } = await scene()
  const url = 'https://user:pw@receiver.example/one?key=hidden'
  const events = ['message.responded'] as const
  await service.webhooks.create({ projectId, url, events })
  const cookie = await signIn()
  const send = (message: string) =>
    post(
      '/console/conversations/sessions',
      { agent: 'bot', sessionId: 's', message },
      { origin: ORIGIN, cookie },
    )
  await send('first')
  await send('second')
  await clock.advance(100)
  const page = await (await get('/console/sessions/bot?session=s', cookie)).text()
  const links = [...page.matchAll(/href="(\/console\/deliveries\?message=[^"]*)"/g)]
  expect(links).toHaveLength(2)
  const list = await (await get(links[0]?.[1] ?? '', cookie)).text()
  const deliveries = [...list.matchAll(/href="(\/console\/deliveries\/[\w-]+)"/g)]
  expect(new Set(deliveries.map(([, link]) => link)).size).toBe(1)
  const delivery = await (await get(deliveries[0]?.[1] ?? '', cookie)).text()
  expect(delivery).toContain('<p class="muted">https://receiver.example/one</p>')
})

describe('the catcher', () => {
  const place = async (made: Awaited<ReturnType<typeof scene>>) => {
    const page = await (await made.get('/console/catcher', await made.signIn())).text()
    return /\/console\/catch\/[\w-]+/.exec(page)?.[0] ?? ''
  }

  it('accepts requests without a session, and marks unsigned requests', async () => {
    const made = await scene()
    const answer = await made.pages.fetch(
      new Request(ORIGIN + (await place(made)), { method: 'POST', body: '<b>{}</b>' }),
    )
    expect(answer.status).toBe(200)
    const page = await (await made.get('/console/catcher', await made.signIn())).text()
    expect(page).toContain('not signed')
    expect(page).toContain('&lt;b&gt;')
  })

  it('marks a signature with another secret as invalid', async () => {
    const made = await scene()
    const headers = {
      'X-Service-Signature': 'sha256=00',
      'webhook-id': 'x',
      'webhook-timestamp': '1',
      'webhook-signature': 'v1,AAAA',
    }
    await made.pages.fetch(
      new Request(ORIGIN + (await place(made)), { method: 'POST', headers, body: '{}' }),
    )
    expect(await (await made.get('/console/catcher', await made.signIn())).text()).toContain(
      'signature invalid',
    )
  })

  it('keeps the newest 50 requests', async () => {
    const made = await scene()
    const path = await place(made)
    for (let i = 0; i < 52; i++)
      await made.pages.fetch(new Request(ORIGIN + path, { method: 'POST', body: `{"n":${i}}` }))
    const page = await (await made.get('/console/catcher', await made.signIn())).text()
    expect(page.match(/class="card caught"/g)).toHaveLength(50)
    expect(page).not.toContain('&quot;n&quot;: 1\n')
  })

  it('keeps only the beginning of a long body', async () => {
    const made = await scene()
    const path = await place(made)
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const body = 'x'.repeat(300_000)
    collect()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 30; i++)
      await made.pages.fetch(new Request(ORIGIN + path, { method: 'POST', body }))
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000)
    expect(await (await made.get('/console/catcher', await made.signIn())).text()).toContain(
      'x'.repeat(16_384),
    )
  })

  it('reports no error if the sender leaves early', async () => {
    const made = await scene()
    const left = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    const body = new ReadableStream({ start: (sent) => sent.error(left) })
    const sending = { method: 'POST', body, duplex: 'half' } as RequestInit
    const request = new Request(ORIGIN + (await place(made)), sending)
    expect([(await made.pages.fetch(request)).status, made.thrown]).toEqual([400, []])
  })

  it('has a secret address', async () => {
    const made = await scene()
    const guess = (await place(made)).slice(0, -3)
    expect(
      (await made.pages.fetch(new Request(`${ORIGIN}${guess}abc`, { method: 'POST', body: '{}' })))
        .status,
    ).toBe(404)
  })

  it('accepts the longest event, and refuses larger bodies', async () => {
    const made = await scene()
    const path = await place(made)
    const send = async (length: number): Promise<number> => {
      const headers = { 'content-length': String(length) }
      return (
        await made.pages.fetch(
          new Request(ORIGIN + path, { method: 'POST', body: 'x'.repeat(length), headers }),
        )
      ).status
    }
    expect([await send(6_500_000), await send(9_000_000)]).toEqual([200, 413])
  })
})

it.each([
  ['/console', true],
  ['/console/agents', true],
  ['/consoles', false],
  ['/v1/agents', false],
])('%s belongs to the console: %s', (path, expected) => {
  expect(isConsolePath(path)).toBe(expected)
})
