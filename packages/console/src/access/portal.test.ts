import type { PortalPermission } from '@org/agent-messaging-core/host'
import { refused } from '@org/agent-messaging-testing'
import type { WebhookSettings } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { cookieOf, ORIGIN, scene } from '../../test/scene.js'
import { pageRoutes } from '../console.js'
import type { ConsoleDeps } from '../context.js'

const HOUR = 3_600_000
const ID = '01a2087e-bb88-712b-ac6f-8ca626ef0ec3'
const HTTPS = 'https://msg.example'
const APP = 'https://app.example'

type Options = Parameters<typeof scene>[0] & { readonly readOnly?: boolean }

/** A scene with a link for the permissions, and a way to open it. */
async function portal(
  permissions: readonly PortalPermission[],
  { readOnly, ...options }: Options = {},
) {
  const s = await scene(options)
  const link = async (returnUrl?: string) => {
    const made = await s.service.portals.create({
      projectId: s.projectId,
      permissions,
      readOnly,
      returnUrl,
    })
    const { session, code } = made
    return { session, path: `/console/portal?code=${code}` }
  }
  const enter = async (returnUrl?: string) => {
    const { session, path } = await link(returnUrl)
    const opened = await s.get(path)
    return { session, opened, cookie: cookieOf(opened) }
  }
  const send = (path: string, form: Record<string, string>, cookie: string) =>
    s.post(path, form, { origin: ORIGIN, cookie })
  return { ...s, link, enter, send }
}

type Scene = Awaited<ReturnType<typeof portal>>

/** The routes that each permission opens. A route that no list has fails the test below. */
const ROUTES: Readonly<Record<PortalPermission | 'either' | 'none', readonly string[]>> = {
  'project:webhooks': [
    'GET /console/webhooks',
    'POST /console/webhooks',
    'ALL /console/webhooks/*',
    'GET /console/webhooks/events',
    'GET /console/webhooks/events/:name',
    'GET /console/webhooks/:id',
    'GET /console/webhooks/:id/:action{rotate|disable|delete}',
    'POST /console/webhooks/:id/test',
    'POST /console/webhooks/:id/:action{pause|resume|disable|enable|finish}',
    'POST /console/webhooks/:id/delete',
    'POST /console/webhooks/:id/rotate',
    'GET /console/webhooks/:id/edit',
    'POST /console/webhooks/:id/edit',
    'ALL /console/events/*',
    'GET /console/events',
    'GET /console/events/:id',
    'GET /console/deliveries',
    'GET /console/deliveries/:id',
    'POST /console/deliveries/:id/:action{redeliver|cancel|skip}',
    'GET /console/recover',
    'POST /console/recover',
    'POST /console/recover/events',
    'GET /console/recoveries/:id',
    'POST /console/recoveries/:id/cancel',
    'POST /console/recoveries/:id/continue',
  ],
  'project:message': [
    'GET /console/conversations',
    'GET /console/conversations/sessions',
    'POST /console/conversations/sessions',
    'GET /console/sessions/:agent',
    'POST /console/sessions/:agent',
    'GET /console/sessions/:agent/live',
    'GET /console/messages/:id',
    'GET /console/people',
    'GET /console/questions',
    'GET /console/questions/answered',
    'GET /console/questions/:id',
    'POST /console/questions/:id',
    'GET /console/questions/:id/withdraw',
    'POST /console/questions/:id/withdraw',
    'POST /console/messages/:agent/:message/:action{retry|cancel}',
  ],
  either: ['GET /console', 'GET /console/search'],
  none: [
    'GET /console/failures',
    'GET /console/usage',
    'GET /console/agents',
    'GET /console/agents/:agent',
    'POST /console/agents/:agent',
    'POST /console/agents/:agent/:action{start|stop}',
    'GET /console/agents/:agent/delete',
    'GET /console/agents/:agent/retry',
    'POST /console/agents/:agent/retry',
    'POST /console/agents/:agent/delete',
    'GET /console/people/erase',
    'POST /console/people/erase',
    'GET /console/sessions/:agent/erase',
    'POST /console/sessions/:agent/erase',
    'GET /console/catcher',
    'POST /console/catcher/register',
    'POST /console/catcher/answer',
    'POST /console/catcher/clear',
    'GET /console/keys',
    'POST /console/keys',
    'GET /console/keys/:key/revoke',
    'POST /console/keys/:key/revoke',
    'GET /console/audit-log',
    'GET /console/project',
    'POST /console/switch',
    'ALL /console/projects',
    'ALL /console/projects/*',
    'GET /console/projects',
    'POST /console/projects',
    'GET /console/projects/:project/keys',
    'POST /console/projects/:project/keys',
    'GET /console/projects/:project/keys/:key/revoke',
    'POST /console/projects/:project/keys/:key/revoke',
    'GET /console/projects/:project/audit-log',
    'GET /console/projects/audit-log',
  ],
}
const classOf = (route: string) =>
  Object.entries(ROUTES).find(([, listed]) => listed.includes(route))?.[0]

const NOTHING = { service: {}, catcher: {} } as unknown as ConsoleDeps
const routes = [
  ...new Set(pageRoutes(NOTHING).routes.map(({ method, path }) => `${method} ${path}`)),
]

/** An address that the route matches. */
const pathIn = (pattern: string): string =>
  pattern
    .replace(/:action\{(\w+)[^}]*\}/, '$1')
    .replace(/:agent\b/, 'bot')
    .replaceAll(/:\w+/g, ID)
    .replace('*', 'page')

describe('the pages of a portal session', () => {
  it.each(routes)('open by the right permission: %s', async (route) => {
    const [method, pattern = ''] = route.split(' ')
    const opens = async (permissions: readonly PortalPermission[]): Promise<boolean> => {
      const { enter, send, get } = await portal(permissions)
      const { cookie } = await enter()
      const path = pathIn(pattern)
      const answer = await (method === 'POST' ? send(path, {}, cookie) : get(path, cookie))
      return !(answer.status === 404 && (await answer.text()).includes('<h1>Page not found</h1>'))
    }
    const listed = classOf(route)
    expect(listed, 'name the new route in ROUTES').toBeDefined()
    expect([
      await opens(['project:webhooks']),
      await opens(['project:message']),
      await opens(['project:webhooks', 'project:message']),
    ]).toEqual([
      listed === 'project:webhooks' || listed === 'either',
      listed === 'project:message' || listed === 'either',
      listed !== 'none',
    ])
  })

  it.each(routes.filter((route) => route.startsWith('POST') && classOf(route) !== 'none'))(
    'refuse a reader: %s',
    async (route) => {
      const { enter, send } = await portal(['project:webhooks', 'project:message'], {
        readOnly: true,
      })
      const [, pattern = ''] = route.split(' ')
      expect((await send(pathIn(pattern), {}, (await enter()).cookie)).status).toBe(403)
    },
  )

  it('show a reader no form, and no page of a form', async () => {
    const both = ['project:webhooks', 'project:message'] as const
    const { enter, get, service, projectId } = await portal(both, { readOnly: true })
    const { webhook } = await service.webhooks.create({
      projectId,
      url: 'https://own.example/hook',
      events: ['*'],
    })
    const { cookie } = await enter()
    for (const path of [
      'webhooks',
      `webhooks/${webhook.id}`,
      'deliveries',
      'recover',
      'questions',
    ]) {
      const page = await get(`/console/${path}`, cookie)
      const forms = [...(await page.text()).matchAll(/<form method="post" action="([^"]*)"/g)]
      expect([path, page.status]).toEqual([path, 200])
      expect(forms.map(([, to]) => to)).toEqual(['/console/theme', '/console/sign-out'])
    }
    for (const form of ['edit', 'rotate', 'delete'])
      expect((await get(`/console/webhooks/${webhook.id}/${form}`, cookie)).status).toBe(403)
  })

  it('name agents without a link to their pages', async () => {
    const { enter, get, service, projectId } = await portal(['project:message'])
    const executionPrincipal = { type: 'end_user', endUserId: 'u' }
    const sent = { projectId, agent: 'bot', sessionId: 's', message: 'hi', executionPrincipal }
    await service.messages.send(sent)
    const { cookie } = await enter()
    for (const path of ['conversations', 'people?id=u']) {
      const page = await (await get(`/console/${path}`, cookie)).text()
      expect(page).toContain('data-label="Agent">bot</td>')
      expect(page).not.toContain('href="/console/agents')
    }
  })

  it('search for no text of more than 100 characters', async () => {
    const { enter, get } = await portal(['project:message'])
    const answer = await get(
      `/console/conversations?text=${'x'.repeat(101)}`,
      (await enter()).cookie,
    )
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('text must have at most 100 characters')
  })

  it('name no API key, command or test receiver to a customer without webhooks', async () => {
    const { enter, get } = await portal(['project:webhooks'])
    const page = await (await get('/console/webhooks', (await enter()).cookie)).text()
    expect(page).toContain('No webhooks yet')
    expect(page).not.toMatch(/curl|catcher|API key/)
  })

  it('are no other project’s', async () => {
    const { enter, get, service } = await portal(['project:webhooks'])
    const other = await service.projects.create({ name: 'other' })
    const webhook = (
      await service.webhooks.create({
        projectId: other.id,
        url: 'https://other.example/hook',
        events: ['*'],
      })
    ).webhook
    const { cookie } = await enter()
    expect((await get(`/console/webhooks/${webhook.id}`, cookie)).status).toBe(404)
    expect(await (await get('/console/webhooks', cookie)).text()).not.toContain('other.example')
  })

  it('show the progress and the result of the customer’s recoveries alone', async () => {
    const { enter, get, signIn, service, projectId, sender, clock } = await portal([
      'project:webhooks',
    ])
    const url = 'https://a.example/hook'
    const { id: webhookId } = (
      await service.webhooks.create({ projectId, url, events: ['*'], retrySchedule: [3_600_000] })
    ).webhook
    sender.script(refused(500))
    await service.webhooks.sendTestEvent({ projectId, webhookId })
    await clock.advance(100)
    const filter = { webhookId, status: 'failed' } as const
    const { id } = await service.recoveries.start({ projectId, filter })
    await clock.advance(100)
    const page = `/console/recoveries/${id}`
    const { cookie } = await enter()
    const shown = await (await get(page, cookie)).text()
    expect(shown).toContain('1 of 1 accepted by')
    expect(shown, 'the last update replaces the part').toContain('id="recovery"')
    expect(shown).toContain(`<a class="url" href="/console/webhooks/${webhookId}">${url}</a>`)
    expect(shown).not.toContain(ORIGIN)
    expect(await (await get(page, await signIn())).text()).toContain(
      `<code>${ORIGIN}${page}</code>`,
    )
    const other = await service.projects.create({ name: 'other' })
    const { id: hidden } = await service.recoveries.start({ projectId: other.id })
    expect((await get(`/console/recoveries/${hidden}`, cookie)).status).toBe(404)
    const signInPage = await get(page)
    expect(await (await get(signInPage.headers.get('location') ?? '')).text()).toContain(
      'Customers have no API key.',
    )
  })

  it('hide retries of messages from a customer without messages', async () => {
    for (const permissions of [
      ['project:webhooks'],
      ['project:webhooks', 'project:message'],
    ] as const) {
      const { enter, get, send, service, projectId } = await portal(permissions)
      const { id } = await service.messages.retryFailed({ projectId, agent: 'bot' })
      const { cookie } = await enter()
      const page = `/console/recoveries/${id}`
      const isShown = permissions.length === 2
      const list = await (await get('/console/recover', cookie)).text()
      expect(list.includes(`href="${page}"`)).toBe(isShown)
      expect((await get(page, cookie)).status).toBe(isShown ? 200 : 404)
      expect((await send(`${page}/cancel`, {}, cookie)).status === 404).toBe(!isShown)
    }
  })

  it('name the customer’s project, also on a page that does not exist', async () => {
    const { enter, get } = await portal(['project:webhooks', 'project:message'])
    const { cookie } = await enter()
    for (const path of [
      '/webhooks',
      '/deliveries',
      '/conversations/sessions',
      '/questions',
      '/search',
      '/keys',
    ])
      expect(await (await get(`/console${path}`, cookie)).text(), path).toContain(
        'For <bdi>test</bdi>',
      )
  })

  it('name the customer by the title of the link', async () => {
    const s = await portal(['project:webhooks'])
    const { code } = await s.service.portals.create({ projectId: s.projectId, title: 'Zoë & Co' })
    const cookie = cookieOf(await s.get(`/console/portal?code=${code}`))
    const page = await (await s.get('/console/webhooks', cookie)).text()
    expect(page).toContain('For <bdi>Zoë &amp; Co</bdi>')
    await s.send('/console/sign-out', {}, cookie)
    const [entry] = (await s.service.auditLog.list({ projectId: s.projectId })).data
    expect(entry).toMatchObject({ action: 'portal.ended', actor: { name: 'Zoë & Co' } })
  })

  it('name the platform, show its logo and colours, and lead back to it', async () => {
    const svg = new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg"/>')
    const look = {
      name: 'Acme <Cloud>',
      logo: { type: 'image/svg+xml', bytes: svg },
      accent: { light: '#007744', dark: '#55ddaa' },
    } as const
    const { enter, get } = await portal(['project:webhooks'], { portal: { look } })
    const { cookie } = await enter(`${APP}/settings`)
    const page = await (await get('/console/webhooks', cookie)).text()
    expect(page).toContain('<span>Acme &lt;Cloud&gt;</span>')
    expect(page).toContain(`href="${APP}/settings" target="_top">Back to app.example</a>`)
    expect(page).not.toMatch(/href="\/console\/(agents|sessions|keys|project|audit-log)/)
    const logo = await get(/<img src="([^"]*)"/.exec(page)?.[1] ?? '', cookie)
    expect(logo.headers.get('content-type')).toBe('image/svg+xml')
    const style = await get(/href="(\/console\/portal\/style[^"]*)"/.exec(page)?.[1] ?? '')
    expect(await style.text()).toContain('light-dark(#007744, #55ddaa)')
    const signIn = await (await get('/console/sign-in')).text()
    expect(signIn).not.toContain('Acme')
  })

  it('show a new secret once, and never an old one', async () => {
    const { enter, get, send } = await portal(['project:webhooks'])
    const { cookie } = await enter()
    const form = { url: 'https://a.example/hook', events: 'message.responded' }
    const created = await (await send('/console/webhooks', form, cookie)).text()
    const secret = /whsec_[\w+/=]+/.exec(created)?.[0] ?? ''
    expect(secret).not.toBe('')
    const list = await (await get('/console/webhooks', cookie)).text()
    const path = /\/console\/webhooks\/[0-9a-f-]{36}/.exec(list)?.[0] ?? ''
    const rotated = await (await send(`${path}/rotate`, {}, cookie)).text()
    const next = /whsec_[\w+/=]+/.exec(rotated)?.[0] ?? ''
    expect([next === '', next === secret]).toEqual([false, false])
    for (const page of [path, `${path}/edit`, `${path}/rotate`])
      expect(await (await get(page, cookie)).text()).not.toMatch(/whsec_/)
  })

  it('record its changes in the audit log', async () => {
    const { enter, send, service, projectId } = await portal(['project:webhooks'])
    const { cookie, session } = await enter()
    const form = { url: 'https://a.example/hook', events: 'message.responded' }
    await send('/console/webhooks', form, cookie)
    await send('/console/sign-out', {}, cookie)
    const { data } = await service.auditLog.list({ projectId, limit: 2 })
    const actor = { kind: 'portal', id: session.id }
    expect(data).toMatchObject([
      { action: 'portal.ended', actor, targetId: session.id },
      { action: 'webhook.created', actor },
    ])
  })
})

describe('a portal link', () => {
  it('opens the first page once, also after a look by a scanner', async () => {
    const { link, get, pages } = await portal(['project:message'])
    const { path } = await link()
    const head = await pages.fetch(new Request(ORIGIN + path, { method: 'HEAD' }))
    expect([head.status, head.headers.get('set-cookie')]).toEqual([200, null])
    const opened = await get(path)
    expect([opened.status, opened.headers.get('location')]).toEqual([
      303,
      '/console/conversations/sessions',
    ])
    expect(opened.headers.get('set-cookie')).toMatch(
      /^agent_messaging_portal=\S+; Max-Age=3600; Path=\/console; HttpOnly; SameSite=Lax$/,
    )
    const again = await get(path)
    expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null])
    expect((await get(path, cookieOf(opened))).headers.get('location')).toBe(
      '/console/conversations/sessions',
    )
  })

  it('opens the page that it names, if the customer can open the page', async () => {
    const { link, get, signIn, send } = await portal(['project:webhooks'])
    const to = `/console/recoveries/${ID}`
    const opened = async (page: string) => {
      const { path } = await link()
      return (await get(`${path}&to=${encodeURIComponent(page)}`)).headers.get('location')
    }
    expect(await opened(to)).toBe(to)
    for (const page of [
      '/console/keys',
      '//evil.example/console/webhooks',
      'https://evil.example/console/webhooks',
      '/console/webhooks/../keys',
      '/console/webhooks?x=1',
    ])
      expect(await opened(page), page).toBe('/console/webhooks')
    const operator = await signIn()
    const { path } = await link()
    const asked = await (await get(`${path}&to=${to}`, operator)).text()
    expect(asked).toContain(`<input type="hidden" name="to" value="${to}"/>`)
    const form = { code: path.split('code=')[1] ?? '', to }
    expect((await send('/console/portal', form, operator)).headers.get('location')).toBe(to)
  })

  it('replaces a session of the same customer without a question', async () => {
    const { enter, link, get, signIn } = await portal(['project:webhooks'])
    const cookie = `${await signIn()}; ${(await enter()).cookie}`
    const { path } = await link()
    const opened = await get(path, cookie)
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/console/webhooks'])
    expect(cookieOf(opened)).toMatch(/^agent_messaging_portal=/)
  })

  it.each(['', '?code=', '?code=unknown'])('that is wrong opens nothing: %s', async (query) => {
    const { get, link } = await portal(['project:webhooks'])
    await link()
    const answer = await get(`/console/portal${query}`)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
    expect(await answer.text()).not.toContain('API key')
  })

  it('expires after 15 minutes', async () => {
    const { link, get, jump } = await portal(['project:webhooks'])
    const { path } = await link()
    await jump(HOUR / 4)
    expect((await get(path)).status).toBe(401)
  })
})

describe('the end of a portal session', () => {
  it('comes with its time, and shows no sign-in form', async () => {
    const { enter, get, jump } = await portal(['project:webhooks'])
    const { cookie } = await enter()
    await jump(HOUR - 1)
    expect((await get('/console/webhooks', cookie)).status).toBe(200)
    await jump(1)
    const over = await get('/console/webhooks', cookie)
    expect(over.status).toBe(401)
    expect(await over.text()).not.toContain('API key')
  })

  it('comes with a deletion, and a part of a page loads the whole page', async () => {
    const { enter, service, projectId, pages } = await portal(['project:webhooks'])
    const { cookie, session } = await enter()
    await service.portals.end({ projectId, portalId: session.id })
    const part = await pages.fetch(
      new Request(`${ORIGIN}/console/webhooks`, { headers: { cookie, 'hx-request': 'true' } }),
    )
    expect([part.status, part.headers.get('hx-refresh')]).toEqual([200, 'true'])
  })

  it('comes when the customer leaves, for copies of the cookie too', async () => {
    const { enter, get, send } = await portal(['project:webhooks'])
    const { cookie } = await enter(`${APP}/settings`)
    const left = await send('/console/sign-out', {}, cookie)
    expect(left.headers.get('set-cookie')).toContain('agent_messaging_portal=; Max-Age=0')
    expect(await left.text()).toContain('Back to app.example')
    expect((await get('/console/webhooks', cookie)).status).toBe(401)
  })

  it('comes with a sign-in by API key in the same browser', async () => {
    const { enter, send, key } = await portal(['project:webhooks'])
    const { cookie } = await enter()
    const signedIn = await send('/console/sign-in', { key }, cookie)
    expect(signedIn.headers.getSetCookie().join('\n')).toContain(
      'agent_messaging_portal=; Max-Age=0',
    )
  })

  it('is not assumed while the storage is unavailable', async () => {
    const { enter, get, link, storage } = await portal(['project:webhooks'])
    const { cookie } = await enter()
    storage.fail('portals.find')
    expect((await get('/console/webhooks', cookie)).status).toBe(503)
    expect((await get('/console/webhooks', cookie)).status).toBe(200)
    const { path } = await link()
    storage.fail('portals.open')
    expect([(await get(path)).status, (await get(path)).status]).toEqual([503, 303])
  })
})

describe('the events of a platform', () => {
  const EVENTS = ['message.responded', 'message.failed'] as const
  const ticked = (page: string) =>
    [...page.matchAll(/name="events" value="([^"]+)"( checked)?/g)].map(
      ([, event, checked]) => `${event}${checked ?? ''}`,
    )
  async function limited() {
    const s = await portal(['project:webhooks'], { portal: { events: EVENTS } })
    const { cookie } = await s.enter()
    const create = async (events: WebhookSettings['events']) => {
      const url = 'https://crm.example/hooks'
      const { webhook } = await s.service.webhooks.create({ projectId: s.projectId, url, events })
      const path = `/console/webhooks/${webhook.id}/edit`
      const save = async (chosen: readonly string[]) => {
        const body = new URLSearchParams([['url', url], ...chosen.map((one) => ['events', one])])
        const headers = { origin: ORIGIN, cookie }
        await s.pages.fetch(new Request(ORIGIN + path, { method: 'POST', headers, body }))
        const ref = { projectId: s.projectId, webhookId: webhook.id }
        return (await s.service.webhooks.get(ref)).events
      }
      return { save, shown: async () => ticked(await (await s.get(path, cookie)).text()) }
    }
    return { ...s, cookie, create }
  }

  it('are the only ones that customers see', async () => {
    const s = await limited()
    const list = await (await s.get('/console/webhooks', s.cookie)).text()
    expect(ticked(list)).toEqual(EVENTS.map((event) => `${event} checked`))
    const samples = await (await s.get('/console/webhooks/events', s.cookie)).text()
    expect([...samples.matchAll(/<code>([a-z_.]+)<\/code>/g)].map(([, event]) => event)).toEqual([
      'webhook.test',
      ...EVENTS,
    ])
    const own = await (await s.get('/console/webhooks/events', await s.signIn())).text()
    expect(own).toContain('<code>delivery.exhausted</code>')
  })

  it('are the only ones whose samples customers send', async () => {
    const s = await limited()
    const { projectId } = s
    const url = 'https://crm.example/hooks'
    const { webhook } = await s.service.webhooks.create({ projectId, url, events: ['agent.error'] })
    const path = `/console/webhooks/${webhook.id}/test`
    for (const event of ['message.failed', 'agent.error']) {
      const { headers } = await s.send(path, { event }, s.cookie)
      const shown = await (await s.get(headers.get('location') ?? '', s.cookie)).text()
      expect(shown).toContain('<option>message.failed</option>')
      expect(shown).not.toContain('<option>agent.error</option>')
    }
    const { data } = await s.service.deliveries.list({ projectId })
    expect(data.map(({ event }) => event)).toEqual(['webhook.test', 'message.failed'])
  })

  it('are chosen without a change of those that customers do not see', async () => {
    const s = await limited()
    const mixed = await s.create(['message.responded', 'agent.error'])
    expect(await mixed.shown()).toEqual(['message.responded checked', 'message.failed'])
    expect(await mixed.save(['message.failed', 'agent.started'])).toEqual([
      'message.failed',
      'agent.error',
    ])
    const all = await s.create(['*'])
    expect(await all.shown()).toEqual(EVENTS.map((event) => `${event} checked`))
    expect(await all.save(EVENTS)).toEqual(['*'])
    expect(await all.save(['message.failed'])).toEqual(['message.failed'])
  })
})

describe('a portal link in a browser with another session', () => {
  const linkOf = async ({ service }: Pick<Scene, 'service'>, name = 'Other <Ltd>') => {
    const { id: projectId } = await service.projects.create({ name })
    const { code } = await service.portals.create({ projectId })
    return { code, path: `/console/portal?code=${code}` }
  }

  it('names both customers, asks, and is used up by the answer only', async () => {
    const s = await portal(['project:webhooks'])
    const { cookie } = await s.enter()
    const { code, path } = await linkOf(s)
    for (const _ of ['first', 'again']) {
      const asked = await s.get(path, cookie)
      expect([asked.status, asked.headers.get('set-cookie')]).toEqual([200, null])
      const page = await asked.text()
      expect(page).toContain('Open the portal of <bdi>Other &lt;Ltd&gt;</bdi>?')
      expect(page).toContain('The portal of <bdi>test</bdi>')
    }
    const opened = await s.send('/console/portal', { code }, cookie)
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/console/webhooks'])
    const shown = await (await s.get('/console/webhooks', cookieOf(opened))).text()
    expect(shown).toContain('For <bdi>Other &lt;Ltd&gt;</bdi>')
    expect((await s.get(path)).status).toBe(401)
    expect((await s.send('/console/portal', { code }, cookie)).status).toBe(401)
  })

  it('names the API key and the project of a console session', async () => {
    const s = await portal(['project:webhooks'])
    const page = await (await s.get((await linkOf(s)).path, await s.signIn())).text()
    expect(page).toContain('Open the portal of <bdi>Other &lt;Ltd&gt;</bdi>?')
    expect(page).toContain('the API key <bdi>mine</bdi> of the project <bdi>test</bdi>')
    const own = await s.get((await s.link()).path, await s.signIn())
    expect(await own.text()).toContain('Open the portal of <bdi>test</bdi>?')
  })

  it('names the session of the operator key, and both sessions of a browser', async () => {
    const operatorKey = 'operator'.repeat(4)
    const s = await portal(['project:webhooks'], { operatorKey })
    const cookie = `${await s.signIn(operatorKey)}; ${(await s.enter()).cookie}`
    const page = await (await s.get((await linkOf(s)).path, cookie)).text()
    expect(page).toContain('signed in with the operator key')
    expect(page).toContain('The portal of <bdi>test</bdi>')
  })

  it.each([
    ['another site', { origin: 'https://evil.example' }],
    ['an unknown site', {}],
  ])('stays usable after a form of %s', async (_, origin: Record<string, string>) => {
    const s = await portal(['project:webhooks'])
    const { code, path } = await linkOf(s)
    const refused = await s.post('/console/portal', { code }, { ...origin, cookie: '' })
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null])
    expect((await s.get(path)).status).toBe(303)
  })

  it('does not ask about a session that has ended', async () => {
    const s = await portal(['project:webhooks'])
    const { cookie, session } = await s.enter()
    await s.service.portals.end({ projectId: s.projectId, portalId: session.id })
    expect((await s.get((await linkOf(s)).path, cookie)).status).toBe(303)
  })

  it('that is used shows no page of the other session', async () => {
    const s = await portal(['project:webhooks'])
    const { cookie } = await s.enter()
    const { path } = await linkOf(s)
    await s.get(path)
    expect((await s.get(path, cookie)).status).toBe(401)
  })

  it('opens nothing while the storage is unavailable', async () => {
    const s = await portal(['project:webhooks'])
    const { cookie } = await s.enter()
    const { path } = await linkOf(s)
    for (const call of ['portals.findByDigest', 'portals.find'] as const) {
      s.storage.fail(call)
      expect((await s.get(path, cookie)).status, call).toBe(503)
    }
    expect((await s.get(path, cookie)).status).toBe(200)
  })
})

describe('a console session in the same browser', () => {
  it('waits until the portal session is over', async () => {
    const { enter, get, signIn } = await portal(['project:webhooks'])
    const both = `${await signIn()}; ${(await enter()).cookie}`
    expect((await get('/console/keys', both)).status).toBe(404)
  })
})

describe('frames', () => {
  const options = { publicUrl: HTTPS, portal: { frameOrigins: [APP] } }
  const frameOf = ({ headers }: Response) => [
    /frame-ancestors [^;]*/.exec(headers.get('content-security-policy') ?? '')?.[0],
    headers.get('x-frame-options'),
  ]

  it('of allowed origins show the portal, with a cookie for frames', async () => {
    const { enter, get } = await portal(['project:webhooks'], options)
    const { opened, cookie } = await enter()
    expect(opened.headers.get('set-cookie')).toMatch(
      /; HttpOnly; Secure; SameSite=None; Partitioned$/,
    )
    const allowed = [`frame-ancestors 'self' ${APP}`, null]
    expect(frameOf(opened)).toEqual(allowed)
    expect(frameOf(await get('/console/webhooks', cookie))).toEqual(allowed)
  })

  it('show no page of the console', async () => {
    const { get, signIn } = await portal(['project:webhooks'], options)
    const closed = ["frame-ancestors 'none'", 'DENY']
    expect(frameOf(await get('/console/sign-in'))).toEqual(closed)
    const cookie = await signIn()
    expect(frameOf(await get('/console', cookie))).toEqual(closed)
    const junk = await get('/console', `${cookie}; agent_messaging_portal=junk`)
    expect([junk.status, frameOf(junk)]).toEqual([200, closed])
  })

  it('show no used link to a browser without a session', async () => {
    const { link, get } = await portal(['project:webhooks'], options)
    const { path } = await link()
    await get(path)
    expect(frameOf(await get(path))).toEqual(["frame-ancestors 'none'", 'DENY'])
  })

  it('show that a session has ended', async () => {
    const { enter, get, service, projectId } = await portal(['project:webhooks'], options)
    const { cookie, session } = await enter()
    await service.portals.end({ projectId, portalId: session.id })
    const over = await get('/console/webhooks', cookie)
    expect([over.status, frameOf(over)]).toEqual([401, [`frame-ancestors 'self' ${APP}`, null]])
  })

  it('show the question for another portal session only', async () => {
    const { enter, get, signIn, service } = await portal(['project:webhooks'], options)
    const { cookie } = await enter()
    const { id: projectId } = await service.projects.create({ name: 'b' })
    const { code } = await service.portals.create({ projectId })
    const path = `/console/portal?code=${code}`
    expect(frameOf(await get(path, cookie))).toEqual([`frame-ancestors 'self' ${APP}`, null])
    expect(frameOf(await get(path, await signIn()))).toEqual(["frame-ancestors 'none'", 'DENY'])
  })

  it('show no portal without the setting', async () => {
    const { enter, get } = await portal(['project:webhooks'], { publicUrl: HTTPS })
    const { cookie, opened } = await enter()
    expect(opened.headers.get('set-cookie')).toMatch(/; HttpOnly; Secure; SameSite=Lax$/)
    expect(frameOf(await get('/console/webhooks', cookie))).toEqual([
      "frame-ancestors 'none'",
      'DENY',
    ])
  })
})

it('a customer reads no error of an agent, and no answer of a receiver but on its delivery', async () => {
  const both = ['project:message', 'project:webhooks'] as const
  const { service, projectId, sender, get, enter, clock } = await portal(both)
  sender.script(refused(500))
  const { cookie } = await enter()
  const url = 'https://r.example/hook'
  await service.webhooks.create({ projectId, url, events: ['message.failed'] })
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'fail' }
  const { message } = await service.messages.send(sent)
  await clock.until(async () => {
    const { data } = await service.deliveries.list({ projectId })
    return data[0]?.attemptCount === 1
  })
  const [delivery] = (await service.deliveries.list({ projectId })).data
  const read = async (path: string) => (await get(`/console/${path}`, cookie)).text()
  const list = 'conversations'
  const pages = [`messages/${message.id}`, 'sessions/bot?session=s', list, `${list}?format=csv`]
  for (const path of pages) {
    const page = await read(path)
    expect(page, path).toContain('ail') // Failed, failed
    expect(page, path).not.toContain('is busy')
    expect(page, path).not.toContain('it answers 500')
  }
  expect(await read(`messages/${message.id}`)).toContain('it fails since')
  expect(await read(`deliveries/${delivery?.id}`)).toContain('it answers 500')
})
