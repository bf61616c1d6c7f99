import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createService,
  defaultLimits,
  PERMISSIONS,
  type Permission,
} from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-core/testing'
import { describe, expect, it, vi } from 'vitest'
import { createConsole, isConsolePath } from './console.js'

const ORIGIN = 'http://127.0.0.1:3000'
const HOUR = 3_600_000

async function scene({
  permissions = PERMISSIONS,
  publicUrl,
}: { permissions?: readonly Permission[]; publicUrl?: string } = {}) {
  const platform = fakePlatform({
    handler: ({ message }) =>
      message === 'never' ? new Promise(() => undefined) : { kind: 'answered', response: message },
  })
  const service = createService(platform)
  await service.start()
  const { id: projectId } = (await service.projects.create({ name: 'test' }))._unsafeUnwrap()
  const { key, apiKey } = (
    await service.keys.create({ projectId, name: 'mine', permissions })
  )._unsafeUnwrap()
  await service.agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  const thrown: unknown[] = []
  const pages = createConsole({
    ...{ service, crypto: platform.crypto, catcher: true, onError: (error) => thrown.push(error) },
    publicUrl: () => publicUrl,
  })

  const get = async (path: string, cookie = ''): Promise<Response> =>
    pages.fetch(new Request(ORIGIN + path, { headers: { cookie } }))
  const post = async (
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = { origin: ORIGIN },
  ) =>
    pages.fetch(
      new Request(ORIGIN + path, { method: 'POST', headers, body: new URLSearchParams(form) }),
    )
  async function signIn(): Promise<string> {
    const answer = await post('/console/sign-in', { key })
    return cookieOf(answer)
  }
  return { ...platform, service, projectId, key, apiKey, pages, thrown, get, post, signIn }
}

const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')?.split(';')[0] ?? ''

describe('signing in', () => {
  it('takes an API key for a cookie that scripts cannot read, and that ends', async () => {
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

  it('keeps the cookie to https where that is how one comes here', async () => {
    const { post, key } = await scene({ publicUrl: 'https://agents.example.com' })
    const answer = await post('/console/sign-in', { key }, { origin: 'https://agents.example.com' })
    expect(answer.headers.get('set-cookie')).toContain('; Secure')
  })

  it.each(['', 'amk_wrong', 'no-such-key-at-all-anywhere'])(
    'refuses %j with no cookie',
    async (key) => {
      const { post } = await scene()
      const answer = await post('/console/sign-in', { key })
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
      expect(await answer.text()).toContain('This is not a valid API key')
    },
  )

  it('leads to where one wanted to go after a key that was mistyped, too', async () => {
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
  ])('does not lead on to %s', async (to) => {
    const { post, key } = await scene()
    expect((await post('/console/sign-in', { key, to })).headers.get('location')).toBe('/console')
  })

  it('says that it cannot be done while the storage is away', async () => {
    const { post, get, key, storage, signIn } = await scene()
    const cookie = await signIn()
    storage.fail('credentials.findByDigest', { times: 2 })
    expect((await post('/console/sign-in', { key })).status).toBe(503)
    expect((await get('/console', cookie)).status).toBe(503)
    expect((await get('/console', cookie)).status).toBe(200)
  })
})

describe('the link that signs in', () => {
  it('is good once', async () => {
    const { get, pages, key } = await scene()
    const link = pages.signInPath(key)
    expect(link).not.toContain(key)
    const first = await get(link)
    expect([first.status, first.headers.get('location')]).toEqual([303, '/console'])
    expect((await get('/console', cookieOf(first))).status).toBe(200)
    expect((await get(link)).status).toBe(401)
  })

  it('leads there again in the browser that it has signed in, for as long as that session lasts', async () => {
    const { get, pages, key, clock } = await scene()
    const link = pages.signInPath(key)
    const cookie = cookieOf(await get(link))
    const again = await get(link, cookie)
    expect([again.status, again.headers.get('location')]).toEqual([303, '/console'])
    clock.set(clock.now() + 12 * HOUR)
    expect((await get(link, cookie)).status).toBe(401)
  })

  it('is good for a quarter of an hour', async () => {
    const { get, pages, key, clock } = await scene()
    const link = pages.signInPath(key)
    await clock.advance(HOUR / 4)
    expect((await get(link)).status).toBe(401)
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
    await service.keys.revoke(projectId, apiKey.id)
    await isOver(await get('/console/agents', cookie))
  })

  it('ends after twelve hours, whatever the browser keeps', async () => {
    const { get, signIn, clock } = await scene()
    const cookie = await signIn()
    clock.set(clock.now() + 12 * HOUR - 1)
    expect((await get('/console/agents', cookie)).status).toBe(200)
    clock.set(clock.now() + 1)
    await isOver(await get('/console/agents', cookie))
  })

  it('that is over does nothing more, says so, and leads back to the form', async () => {
    const { get, post, service, projectId } = await scene()
    const headers = { origin: ORIGIN, referer: `${ORIGIN}/console/agents?cursor=1&notice=started` }
    const answer = await post('/console/agents/bot/stop', {}, headers)
    const signIn = answer.headers.get('location') ?? ''
    expect([answer.status, signIn]).toEqual([
      303,
      '/console/sign-in?notice=undone&to=%2Fconsole%2Fagents%3Fcursor%3D1',
    ])
    expect(await (await get(signIn)).text()).toContain('nothing was done')
    expect(
      (await service.agents.get({ projectId, agent: 'bot' }))._unsafeUnwrap().desiredState,
    ).toBe('running')
  })

  it('is none of a cookie that was made up or altered', async () => {
    const { get, signIn } = await scene()
    const cookie = await signIn()
    for (const forged of ['', 'agent_messaging_console=x', `${cookie.slice(0, -4)}AAAA`])
      await isOver(await get('/console/agents', forged))
  })

  it('ends by signing out, for a copy of its cookie too and in every process, while others go on', async () => {
    const { get, post, signIn, service, crypto } = await scene()
    const [cookie, other] = [await signIn(), await signIn()]
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

  it('is left in this browser alone while the storage is away, which is said', async () => {
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

  it('has htmx leave the page as a whole when it is over', async () => {
    const { pages } = await scene()
    const answer = await pages.fetch(
      new Request(`${ORIGIN}/console/agents`, { headers: { 'hx-request': 'true' } }),
    )
    expect(answer.headers.get('hx-redirect')).toBe('/console/sign-in?to=%2Fconsole%2Fagents')
  })
})

describe('what a key may not', () => {
  it.each([
    ['/console/agents', 'project:agents'],
    ['/console/sessions', 'project:message'],
    ['/console/webhooks', 'project:webhooks'],
    ['/console/deliveries', 'project:webhooks'],
    ['/console/agents/bot/delete', 'project:agents'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/delete', 'project:webhooks'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/recover', 'project:webhooks'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/edit', 'project:webhooks'],
    ['/console/sessions/bot/erase?session=s', 'project:message'],
    ['/console/catcher', 'project:webhooks'],
  ])('%s does not show without %s', async (path, permission) => {
    const { get, signIn } = await scene({
      permissions: PERMISSIONS.filter((one) => one !== permission),
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
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/recover', 'project:webhooks'],
    ['/console/webhooks/00000000-0000-7000-8000-000000000000/edit', 'project:webhooks'],
    ['/console/sessions/bot/erase?session=s', 'project:message'],
  ])('POST %s does not work without %s', async (path, permission) => {
    const { post, signIn } = await scene({
      permissions: PERMISSIONS.filter((one) => one !== permission),
    })
    expect((await post(path, {}, { origin: ORIGIN, cookie: await signIn() })).status).toBe(403)
  })

  it.each<[Permission, readonly string[]]>([
    ['project:message', ['Failed messages']],
    ['project:agents', ['Agents running']],
    ['project:webhooks', ['Backlog', 'Answers of receivers', 'mine.example']],
  ])('the overview shows only with %s', async (permission, words) => {
    for (const isThere of [true, false]) {
      const { get, signIn, service, projectId } = await scene({
        permissions: PERMISSIONS.filter((one) => (one === permission) === isThere),
      })
      ;(
        await service.webhooks.create({
          projectId,
          url: 'https://mine.example/hook',
          events: ['*'],
        })
      )._unsafeUnwrap()
      const page = await (await get('/console', await signIn())).text()
      expect(words.map((word) => page.includes(word))).toEqual(words.map(() => isThere))
    }
  })

  it('another project is not there', async () => {
    const { get, post, signIn, service } = await scene()
    const { id: projectId } = (await service.projects.create({ name: 'other' }))._unsafeUnwrap()
    const { agent } = (
      await service.agents.create({ projectId, name: 'theirs', runtime: { kind: 'fake' } })
    )._unsafeUnwrap()
    const made = await service.webhooks.create({
      projectId,
      url: 'https://theirs.example/hook',
      events: ['*'],
    })
    const cookie = await signIn()
    const { webhook } = made._unsafeUnwrap()
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
    expect((await get(`/console/webhooks/${webhook.id}/recover`, cookie)).status).toBe(404)
    expect(await (await get('/console', cookie)).text()).not.toContain('theirs.example')
  })
})

describe('a key that may send messages and no more', () => {
  const only = { permissions: ['project:message'] } as const
  const send = async ({ service, projectId, clock }: Awaited<ReturnType<typeof scene>>) => {
    ;(
      await service.messages.send({
        projectId,
        agent: 'bot',
        sessionId: 'first',
        message: 'hello',
        waitMs: 0,
      })
    )._unsafeUnwrap()
    await clock.advance(100)
  }

  it('is told of no agent, and sees the sessions of one that it names', async () => {
    const made = await scene(only)
    await send(made)
    const cookie = await made.signIn()
    const page = await (await made.get('/console/sessions', cookie)).text()
    expect(page).toContain('With which agent?')
    expect(page).not.toContain('bot')
    expect(await (await made.get('/console/sessions?agent=bot', cookie)).text()).toContain(
      '/console/sessions/bot?session=first',
    )
  })

  it('does not learn the name of an agent that it knows by its id', async () => {
    const made = await scene(only)
    await send(made)
    const { id } = (
      await made.service.agents.get({ projectId: made.projectId, agent: 'bot' })
    )._unsafeUnwrap()
    const cookie = await made.signIn()
    for (const path of [`?agent=${id}`, `/${id}?session=first`, `/${id}/erase?session=first`]) {
      const page = await made.get(`/console/sessions${path}`, cookie)
      expect(page.status).toBe(200)
      expect(await page.text()).not.toContain('bot')
    }
  })
})

describe('requests from other sites', () => {
  it.each<[string, Record<string, string>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['a null origin', { origin: 'null' }],
    ['no origin', {}],
    ['what the browser calls cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['what the browser calls same-site', { 'sec-fetch-site': 'same-site' }],
  ])('change nothing with %s', async (_, headers) => {
    const { post, signIn, service, projectId } = await scene()
    const cookie = await signIn()
    const answer = await post('/console/agents/bot/stop', {}, { ...headers, cookie })
    expect(answer.status).toBe(403)
    expect(
      (await post('/console/agents/bot/delete', { name: 'bot' }, { ...headers, cookie })).status,
    ).toBe(403)
    expect(
      (await service.agents.get({ projectId, agent: 'bot' }))._unsafeUnwrap().desiredState,
    ).toBe('running')
  })

  it.each<[string, Record<string, string>]>([
    ['its own origin', { origin: ORIGIN }],
    ['what the browser calls same-origin', { 'sec-fetch-site': 'same-origin' }],
  ])('are told from ours by %s', async (_, headers) => {
    const { post, signIn } = await scene()
    expect(
      (await post('/console/agents/bot/stop', {}, { ...headers, cookie: await signIn() })).status,
    ).toBe(303)
  })
})

describe('answers', () => {
  it('let the browser load and run nothing but ours, and keep nothing', async () => {
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

  it('have no script and no style in the page', async () => {
    const { get, signIn } = await scene()
    const page = await (await get('/console', await signIn())).text()
    expect(page).toMatch(/^<!doctype html>/)
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)| on\w+=/)
  })

  it('bring assets under an address that changes with them', async () => {
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

  it('show what people typed as text', async () => {
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
      '/console/sessions',
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
    '/console/sessions?agent=nobody',
    '/console/agents/nobody/delete',
    '/console/webhooks/not-an-id/delete',
    '/console/webhooks/not-an-id/recover',
    '/console/webhooks/not-an-id',
    '/console/deliveries/00000000-0000-7000-8000-000000000000',
    '/console/deliveries/%00',
    '/console/nowhere',
  ])('are 404 for %s', async (path) => {
    const { get, signIn } = await scene()
    expect((await get(path, await signIn())).status).toBe(404)
  })

  it('ignore what makes no sense in an address', async () => {
    const { get, signIn, thrown } = await scene()
    const cookie = await signIn()
    for (const query of [
      'cursor=x',
      'status=x&event=y&answer=z&webhook=%00&from=yesterday&to=2026-99-99',
      'range=__proto__',
      'notice=__proto__',
    ]) {
      for (const path of [
        '/console',
        '/console/deliveries',
        '/console/agents',
        '/console/webhooks',
        '/console/sessions',
      ]) {
        expect((await get(`${path}?${query}`, cookie)).status).toBe(200)
      }
    }
    expect(thrown).toEqual([])
  })

  it('are 400 for a form that is none', async () => {
    const { post, pages, thrown } = await scene()
    const headers = { origin: ORIGIN, 'content-type': 'multipart/form-data; boundary=x' }
    const answer = await pages.fetch(
      new Request(`${ORIGIN}/console/sign-in`, { method: 'POST', headers, body: 'garbage' }),
    )
    expect([answer.status, thrown]).toEqual([400, []])
    expect((await post('/console/sign-in', { key: 'x'.repeat(1_100_000) })).status).toBe(413)
  })

  it('ask the storage for no odd text: one may refuse it', async () => {
    const { post, signIn, service } = await scene()
    const asked = vi.spyOn(service.agents, 'stop')
    expect(
      (await post('/console/agents/a%00b/stop', {}, { origin: ORIGIN, cookie: await signIn() }))
        .status,
    ).toBe(404)
    expect(asked).toHaveBeenCalledWith(
      expect.objectContaining({ agent: '00000000-0000-0000-0000-000000000000' }),
    )
  })

  it.each(['/console/sign-in', '/console/agents/bot/stop', '/console/catch/anywhere'])(
    'are nothing to report where the sender of a form to %s leaves in the middle',
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

  it('take the longest message there is, whose characters have nine bytes each in a form, and say of a larger one what is wrong', async () => {
    const { post, signIn } = await scene()
    const headers = { origin: ORIGIN, cookie: await signIn() }
    const send = (length: number) =>
      post(
        '/console/sessions?agent=bot',
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

  it('are 503 while the storage is away', async () => {
    const { get, signIn, storage } = await scene()
    const cookie = await signIn()
    for (const [method, path] of [
      ['messages.activity', ''],
      ['agents.list', '/agents'],
      ['webhooks.list', '/webhooks'],
      ['deliveries.list', '/deliveries'],
    ] as const) {
      storage.fail(method)
      expect((await get(`/console${path}`, cookie)).status).toBe(503)
    }
  })
})

it('the overview says what it counts, and of more than a hundred deliveries that wait no more than it knows', async () => {
  const { get, signIn, service, projectId, clock } = await scene()
  const { webhook } = (
    await service.webhooks.create({
      projectId,
      url: 'https://mine.example/hook',
      events: ['message.responded'],
    })
  )._unsafeUnwrap()
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
  expect(await overview()).toContain('oldest due for 2 min')
  expect(await overview()).toContain('attempts of the newest 5,000 deliveries')
  await send(100)
  expect(await overview()).toContain('oldest due over 2 min')
})

describe('with more agents than fit beside each other', () => {
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

  it('the overview counts them all', async () => {
    const pageOf = await crowd()
    expect(await pageOf('/console')).toContain('1 of 101')
  })

  it('the sessions of one are asked for by its name, and the one that is shown is named', async () => {
    const pageOf = await crowd()
    const page = await pageOf('/console/sessions?agent=bot')
    expect(page).not.toContain('aria-label="Agents"')
    expect(/<input[^>]* name="agent"[^>]*>/.exec(page)?.[0]).toContain('value="bot"')
    expect(page).toContain('<option value="a99">')
  })
})

it('suggests the name of a first session, and of none when there are some', async () => {
  const { get, signIn, service, projectId, clock } = await scene()
  const cookie = await signIn()
  const suggested = async () =>
    /id="sessionId"[^>]* value="([^"]*)"/.exec(
      await (await get('/console/sessions?agent=bot', cookie)).text(),
    )?.[1]
  expect(await suggested()).toBe('first')
  ;(
    await service.messages.send({
      projectId,
      agent: 'bot',
      sessionId: 'first',
      message: 'hello',
      waitMs: 0,
    })
  )._unsafeUnwrap()
  await clock.advance(100)
  expect(await suggested()).toBe('')
})

describe('deleting an agent', () => {
  const path = '/console/agents/bot/delete'
  const isThere = async ({ service, projectId }: Awaited<ReturnType<typeof scene>>) =>
    (await service.agents.get({ projectId, agent: 'bot' })).isOk()

  it('takes its name, typed', async () => {
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

  it('takes one word more while messages of it are open', async () => {
    const made = await scene()
    const headers = { origin: ORIGIN, cookie: await made.signIn() }
    ;(
      await made.service.messages.send({
        projectId: made.projectId,
        agent: 'bot',
        sessionId: 's',
        message: 'never',
        waitMs: 0,
      })
    )._unsafeUnwrap()
    const answer = await made.post(path, { name: 'bot' }, headers)
    expect([answer.status, await isThere(made)]).toEqual([400, true])
    expect(await answer.text()).toContain('Messages of it are waiting or running')
    expect((await made.post(path, { name: 'bot', force: 'yes' }, headers)).status).toBe(303)
    expect(await isThere(made)).toBe(false)
  })
})

describe('erasing a session', () => {
  const path = '/console/sessions/bot/erase?session=a%2Fb'
  async function withSession(message: string) {
    const made = await scene()
    const { service, projectId, clock } = made
    ;(
      await service.messages.send({ projectId, agent: 'bot', sessionId: 'a/b', message, waitMs: 0 })
    )._unsafeUnwrap()
    await clock.advance(100)
    const headers = { origin: ORIGIN, cookie: await made.signIn() }
    const erase = (form: Record<string, string> = {}) => made.post(path, form, headers)
    const sessions = async () =>
      (await service.sessions.list({ projectId, agent: 'bot', page: { limit: 9 } }))._unsafeUnwrap()
        .data.length
    return { ...made, erase, sessions, cookie: headers.cookie }
  }

  it('is asked for on a page that the conversation leads to', async () => {
    const { get, erase, sessions, cookie } = await withSession('hello')
    expect(await (await get('/console/sessions/bot?session=a%2Fb', cookie)).text()).toContain(
      `href="${path}"`,
    )
    expect(await (await get(path, cookie)).text()).toContain(`action="${path}"`)
    expect(await sessions()).toBe(1)
    expect((await erase()).headers.get('location')).toBe(
      '/console/sessions?agent=bot&notice=sessionErased',
    )
    expect(await sessions()).toBe(0)
    expect((await erase()).status).toBe(404)
  })

  it('takes one word more while messages of it are open', async () => {
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

it('changes a webhook, and nothing of it that the form does not show', async () => {
  const { get, post, signIn, service, projectId } = await scene()
  const headers = { 'x-api-key': 'k' }
  const made = await service.webhooks.create({
    projectId,
    url: 'https://mine.example/old',
    events: ['*'],
    description: 'mine',
    headers,
  })
  const ref = { projectId, webhookId: made._unsafeUnwrap().webhook.id }
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
  })
  expect(right.headers.get('location')).toBe(
    `/console/webhooks/${ref.webhookId}?notice=webhookChanged`,
  )
  const changed = (await service.webhooks.get(ref))._unsafeUnwrap()
  expect(changed).toMatchObject({
    url: 'https://mine.example/new',
    events: ['agent.error'],
    disableOnGone: true,
    headers: { names: ['x-api-key'] },
  })
  expect(changed.description).toBeUndefined()

  const elsewhere = { url: 'https://theirs.example/', events: '*' }
  const refused = await edit(elsewhere)
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringMatching(/headers must be given anew[^]*name="dropHeaders"/),
  ])
  expect(form).not.toContain('dropHeaders')
  expect((await edit({ ...elsewhere, dropHeaders: 'yes' })).status).toBe(303)
  const moved = (await service.webhooks.get(ref))._unsafeUnwrap()
  expect([moved.url, moved.headers]).toEqual(['https://theirs.example/', undefined])
})

it('deletes a webhook', async () => {
  const { get, post, signIn, service, projectId } = await scene()
  const made = await service.webhooks.create({
    projectId,
    url: 'https://mine.example/hook',
    events: ['*'],
  })
  const ref = { projectId, webhookId: made._unsafeUnwrap().webhook.id }
  const cookie = await signIn()
  const path = `/console/webhooks/${ref.webhookId}/delete`
  expect(await (await get(path, cookie)).text()).toContain('https://mine.example/hook')
  expect((await service.webhooks.get(ref)).isOk()).toBe(true)
  expect((await post(path, {}, { origin: ORIGIN, cookie })).headers.get('location')).toBe(
    '/console/webhooks?notice=webhookDeleted',
  )
  expect((await service.webhooks.get(ref)).isErr()).toBe(true)
})

describe('recovering', () => {
  async function withDelivered(count: number) {
    const made = await scene()
    const created = await made.service.webhooks.create({
      projectId: made.projectId,
      url: 'https://mine.example/hook',
      events: ['*'],
    })
    const ref = { projectId: made.projectId, webhookId: created._unsafeUnwrap().webhook.id }
    for (let i = 0; i < count; i++) (await made.service.webhooks.sendTestEvent(ref))._unsafeUnwrap()
    await made.clock.advance(1_000)
    return {
      ...made,
      path: `/console/webhooks/${ref.webhookId}/recover`,
      cookie: await made.signIn(),
    }
  }
  const hidden = (page: string): Record<string, string> =>
    Object.fromEntries(
      [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value],
      ),
    )

  it('counts first, in whatever way it was asked for, and sends nothing yet', async () => {
    const { get, path, cookie, sender } = await withDelivered(3)
    const sent = sender.requests.length
    expect(
      await (await get(`${path}?status=delivered&event=webhook.test`, cookie)).text(),
    ).toContain('3 deliveries match')
    expect(
      await (await get(`${path}?status=delivered&to=2001-01-01T00:00`, cookie)).text(),
    ).toContain('No delivery matches')
    expect(await (await get(path, cookie)).text()).toContain('Status exhausted.')
    expect(sender.requests).toHaveLength(sent)
  })

  it('lets others have their turn between two pages of what it counts', async () => {
    const { get, path, cookie, storage } = await withDelivered(3)
    const { list } = storage.deliveries
    const turns: number[] = []
    let turn = 0
    vi.spyOn(storage.deliveries, 'list').mockImplementation((filter, page) => {
      turns.push(turn)
      setImmediate(() => turn++)
      return list(filter, { ...page, limit: 1 })
    })
    expect(await (await get(`${path}?status=delivered`, cookie)).text()).toContain(
      '3 deliveries match',
    )
    expect(turns).toEqual([0, 1, 2])
  })

  it('says how far it has come, of how many', async () => {
    const { get, post, path, cookie } = await withDelivered(450)
    const headers = { origin: ORIGIN, cookie }
    let page = await (await get(`${path}?status=delivered`, cookie)).text()
    const seen: unknown[] = []
    while (page.includes('name="status"')) {
      page = await (await post(path, hidden(page), headers)).text()
      seen.push(/<progress max="(\d+)" value="(\d+)"/.exec(page)?.slice(1))
    }
    expect(seen).toEqual([
      ['450', '200'],
      ['450', '400'],
      ['450', '450'],
    ])
    expect(page).toContain('450 deliveries are sent again')
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
  ])('%s is reached by its link', async (sessionId) => {
    const { get, post, signIn, clock, key } = await scene()
    const headers = { origin: ORIGIN, cookie: await signIn() }
    await post('/console/sessions', { agent: 'bot', sessionId, message: 'hello' }, headers)
    await clock.advance(100)
    const list = await (await get('/console/sessions', headers.cookie)).text()
    const [, link = ''] = /href="(\/console\/sessions\/bot[^"]*)"/.exec(list) ?? []
    // As a browser reads the link.
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

describe('the catcher', () => {
  const place = async (made: Awaited<ReturnType<typeof scene>>) => {
    const page = await (await made.get('/console/catcher', await made.signIn())).text()
    return /\/console\/catch\/[\w-]+/.exec(page)?.[0] ?? ''
  }

  it('takes what comes without a session, and calls what is not signed so', async () => {
    const made = await scene()
    const answer = await made.pages.fetch(
      new Request(ORIGIN + (await place(made)), { method: 'POST', body: '<b>{}</b>' }),
    )
    expect(answer.status).toBe(200)
    const page = await (await made.get('/console/catcher', await made.signIn())).text()
    expect(page).toContain('not signed')
    expect(page).toContain('&lt;b&gt;')
  })

  it('calls a signature of another secret wrong', async () => {
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
      'signature wrong',
    )
  })

  it('keeps the newest fifty', async () => {
    const made = await scene()
    const path = await place(made)
    for (let i = 0; i < 52; i++)
      await made.pages.fetch(new Request(ORIGIN + path, { method: 'POST', body: `{"n":${i}}` }))
    const page = await (await made.get('/console/catcher', await made.signIn())).text()
    expect(page.match(/class="card caught"/g)).toHaveLength(50)
    expect(page).not.toContain('&quot;n&quot;: 1\n')
  })

  it('keeps no more than the beginning of what is long', async () => {
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

  it('is at no other address', async () => {
    const made = await scene()
    const guess = (await place(made)).slice(0, -3)
    expect(
      (await made.pages.fetch(new Request(`${ORIGIN}${guess}abc`, { method: 'POST', body: '{}' })))
        .status,
    ).toBe(404)
  })

  it('takes the longest event there is, and refuses what is larger', async () => {
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
])('%s is the console’s: %s', (path, expected) => {
  expect(isConsolePath(path)).toBe(expected)
})
