import { describe, expect, it } from 'vitest'
import { ORIGIN, scene } from '../test/scene.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A scene that is signed in. */
async function open() {
  const s = await scene()
  const cookie = await s.signIn()
  const send = (path: string, form: Record<string, string>) =>
    s.post(path, form, { origin: ORIGIN, cookie })
  const text = async (path: string) => (await s.get(path, cookie)).text()
  const begin = () =>
    s.service.messages.send({
      projectId: s.projectId,
      agent: 'bot',
      sessionId: 's',
      message: 'Hello',
      waitMs: 0,
    })
  return { ...s, send, text, cookie, begin }
}

const fieldIn = (page: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''

describe('the form of a message', () => {
  it('sends once for all presses of its button, and again for a new text', async () => {
    const { send, text, service, projectId, begin } = await open()
    await begin()
    const path = '/console/sessions/bot?session=s'
    const formId = fieldIn(await text(path), 'formId')
    expect(formId).not.toBe('')
    const press = (message: string) => send(path, { formId, message, agent: 'bot' })
    await Promise.all([press('Pay 10 €'), press('Pay 10 €')])
    await press('Pay 10 €')
    await press('Pay 20 €')
    const found = await service.messages.search({ projectId, limit: 9 })
    const messages = found.data.map(({ message }) => message.message)
    expect(messages).toEqual(['Pay 20 €', 'Pay 10 €', 'Hello'])
    expect(fieldIn(await text(path), 'formId')).not.toBe(formId)
  })

  it('sends once, too, after an answer that was lost', async () => {
    const { send, text, storage, service, projectId, begin } = await open()
    await begin()
    const path = '/console/sessions/bot?session=s'
    const formId = fieldIn(await text(path), 'formId')
    storage.fail('messages.accept', { takesEffect: true, times: 1 })
    const first = await send(path, { formId, message: 'Pay', agent: 'bot' })
    const shown = fieldIn(await first.text(), 'formId')
    expect(shown === '' || shown === formId).toBe(true)
    await send(path, { formId, message: 'Pay', agent: 'bot' })
    const found = await service.messages.search({ projectId, limit: 9 })
    expect(found.data).toHaveLength(2)
  })
})

describe('the list of messages', () => {
  it('has a button to retry each failed or cancelled message', async () => {
    const { send, text, service, projectId } = await open()
    const sent = await service.messages.send({
      projectId,
      agent: 'bot',
      sessionId: 's',
      message: 'never',
      waitMs: 0,
    })
    const { message } = sent
    await service.messages.cancel({ projectId, agent: 'bot', messageId: message.id })
    const page = await text('/console/conversations')
    const action = /action="(\/console\/messages\/[^"]*\/retry)"/.exec(page)?.[1] ?? ''
    expect((await send(action, {})).headers.get('location')).toContain('notice=retried')
  })

  it('is shown since an hour, a day or a week with one click, and keeps the filter', async () => {
    const { text, clock } = await open()
    const page = await text('/console/conversations?state=failed&cursor=x')
    const links = [...page.matchAll(/href="([^"]*from=[^"]*)">(hour|day|week)</g)]
    expect(links.map(([, , name]) => name)).toEqual(['hour', 'day', 'week'])
    const { searchParams } = new URL(links[0]?.[1]?.replaceAll('&amp;', '&') ?? '', ORIGIN)
    expect([...searchParams.keys()].toSorted()).toEqual(['from', 'state'])
    const since = Date.parse(searchParams.get('from') ?? '')
    expect(clock.now() - since).toBe(HOUR)
  })
})

/** `create` returns the id of a webhook with all events. */
async function openWithWebhooks() {
  const opened = await open()
  const create = async (name: string) => {
    const created = await opened.service.webhooks.create({
      projectId: opened.projectId,
      url: `https://${name}.example/`,
      events: ['*'],
    })
    return created.webhook.id
  }
  return { ...opened, create }
}

describe('the list of webhooks', () => {
  it('has the failing ones first, and leads to the catcher', async () => {
    const { text, sender, service, projectId, clock, create } = await openWithWebhooks()
    const webhookId = await create('failing')
    await create('sound')
    sender.script({ kind: 'refused', statusCode: 503, responseBody: '' })
    await service.webhooks.sendTestEvent({ projectId, webhookId })
    await clock.advance(0)
    const [first] = (await text('/console/webhooks')).match(/\/console\/webhooks\/[\w-]{36}/) ?? []
    expect(first).toBe(`/console/webhooks/${webhookId}`)
    expect(await text('/console/webhooks?show=held')).toContain('No webhook matches.')
    expect(await text('/console/webhooks')).toContain('href="/console/catcher"')
    expect(await text('/console/catcher')).toContain('<a href="/console/webhooks" aria-current')
  })

  it('shows the last failure of a webhook, and its page the answer and the delivery', async () => {
    const { text, service, projectId, sender, clock, create } = await openWithWebhooks()
    const webhookId = await create('failing')
    const untried = await text(`/console/webhooks/${webhookId}`)
    expect(untried).toContain('Last failed</dt><dd>never')
    expect(untried).toContain('none of the newest 100 pending ones has failed')
    sender.script({ kind: 'refused', statusCode: 503, responseBody: '<b>out of disk</b>' })
    const sent = await service.webhooks.sendTestEvent({ projectId, webhookId })
    await clock.advance(0)
    expect(await text('/console/webhooks')).toMatch(/last failed [^]*<\/time>: 503</)
    const [, fact] = /Last failed<\/dt><dd>(.*?)<\/dd>/s.exec(
      await text(`/console/webhooks/${webhookId}`),
    ) as RegExpExecArray
    expect(fact).toContain(`href="/console/deliveries/${sent.id}"`)
    expect(fact).toContain('503')
    expect(fact).toContain('&lt;b&gt;out of disk&lt;/b&gt;')
  })

  it('shows all, the failing ones, or the ones that hold deliveries', async () => {
    const { text, service, projectId, create } = await openWithWebhooks()
    await create('healthy')
    const id = await create('paused')
    await service.webhooks.update({
      projectId,
      webhookId: id,
      change: { paused: true },
    })
    const hostsIn = async (show: string) => {
      const page = await text(`/console/webhooks?show=${show}`)
      return ['healthy', 'paused'].filter((name) => page.includes(`${name}.example`))
    }
    expect(await hostsIn('all')).toEqual(['healthy', 'paused'])
    expect(await hostsIn('nonsense')).toEqual(['healthy', 'paused'])
    expect(await hostsIn('held')).toEqual(['paused'])
    expect(await hostsIn('bad')).toEqual([])
    expect(await text('/console')).toContain('no webhook holds any')
    const asked = { projectId, agent: 'bot', sessionId: 's', message: 'never', waitMs: 0 }
    const { message } = await service.messages.send(asked)
    await service.messages.cancel({ projectId, agent: 'bot', messageId: message.id })
    expect(await text('/console')).toContain('href="/console/webhooks?show=held">2 by paused<')
  })
})

describe('the list of agents', () => {
  it('can show only the agents in error', async () => {
    const { text } = await open()
    expect(await text('/console/agents')).toContain('bot')
    const page = await text('/console/agents?state=error')
    expect(page).toContain('Show all agents')
    expect(page).not.toContain('/console/agents/bot')
  })

  it('has the agents in error first, over pages', async () => {
    const { text, service, projectId, clock, runtime: failing } = await open()
    const runtime = { kind: 'fake' }
    failing.failStart()
    const broken = { projectId, name: 'broken', runtime, desiredState: 'running' } as const
    await service.agents.create(broken)
    await clock.advance(0)
    for (let n = 0; n < 30; n += 1)
      await service.agents.create({ projectId, name: `sound-${n}`, runtime })
    const namesIn = (page: string) =>
      [...page.matchAll(/console\/agents\/[\w-]{36}">([\w-]+)</g)].map(([, name]) => name)
    const first = await text('/console/agents')
    const next = /href="([^"]+)" rel="next">More</.exec(first)?.[1] ?? ''
    const second = await text(next)
    expect(namesIn(first)[0]).toBe('broken')
    expect(new Set([...namesIn(first), ...namesIn(second)]).size).toBe(32)
    expect(second).toContain('href="/console/agents">First page</a>')
  })
})

describe('the page of conversations', () => {
  it('shows the messages of all agents over pages, or the sessions of one', async () => {
    const { text, service, projectId, clock } = await open()
    for (let n = 0; n < 26; n += 1)
      await service.messages.send({
        projectId,
        agent: 'bot',
        sessionId: `s-${n}`,
        message: 'Hello',
        waitMs: 0,
      })
    await clock.advance(0)
    const namesIn = (page: string) =>
      [...page.matchAll(/<bdi>(s-\d+)<\/bdi>/g)].map(([, name]) => name)
    const first = await text('/console/conversations')
    const next = /href="([^"]+)" rel="next">Older</.exec(first)?.[1] ?? ''
    expect(namesIn(first)[0]).toBe('s-25')
    expect(namesIn(await text(next))).toEqual(['s-0'])
    expect(first).toContain('<a href="/console/conversations" aria-current="true">Messages</a>')
    const sessions = await text('/console/conversations/sessions')
    expect(sessions).toContain('aria-current="true">Sessions</a>')
    expect(sessions).toContain('Start a conversation with bot')
    expect(namesIn(sessions)).toHaveLength(25)
  })

  it('shows the agent and the person of each message, and filters by the agent', async () => {
    const { text, service, projectId, clock, get, signIn } = await open()
    const { agent: other } = await service.agents.create({
      projectId,
      name: 'other',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    const endUserId = '<b>&" שלום'
    await service.messages.send({
      projectId,
      agent: 'bot',
      sessionId: 'of-bot',
      message: 'Hello',
      executionPrincipal: { type: 'end_user', endUserId },
    })
    await service.messages.send({ projectId, agent: 'other', sessionId: 'of-other', message: 'Hi' })
    await clock.advance(0)
    const list = '/console/conversations'
    const all = await text(list)
    expect(all).toContain('<bdi>&lt;b&gt;&amp;&quot; שלום</bdi></a>')
    expect(all).toContain(`href="/console/agents/${other.id}">other</a>`)
    for (const agent of ['other', other.id]) {
      const page = await text(`${list}?agent=${agent}&state=responded`)
      expect(page).toContain('<bdi>of-other</bdi>')
      expect(page).not.toContain('of-bot')
      expect(page).toContain('<option value="other" selected="">')
      expect(page).toContain('href="/console/conversations/sessions?agent=other">Sessions</a>')
    }
    expect((await get(`${list}?agent=nobody`, await signIn())).status).toBe(404)
    expect(await text(`${list}?agent=%00`)).toContain('of-bot')
  })
})

describe('the times of a list', () => {
  it('are times of day if all rows have the same day, and the date tells another day', async () => {
    const { get, signIn, begin, jump } = await open()
    const text = async () => (await get('/console/conversations', await signIn())).text()
    await begin()
    expect(await text()).toMatch(/<time[^>]*>now</)
    await begin()
    expect(await text()).toMatch(/<time[^>]*>00:00:00</)
    await jump(DAY)
    expect(await text()).toMatch(/<time[^>]*>2030-01-01 00:00:00</)
    await begin()
    expect(await text()).toMatch(/<time[^>]*>1 d ago</)
  })
})

describe('an API key', () => {
  it('can expire', async () => {
    const { send, service, projectId, clock } = await open()
    await send('/console/keys', { name: 'k', permissions: 'project:message', days: '30' })
    const [key] = (await service.keys.list({ projectId, limit: 1 })).data
    expect(key?.expiresAt).toBe(clock.now() + 30 * 24 * HOUR)
  })

  it('has a role or permissions, and the list shows the role', async () => {
    const { send, text, service, projectId } = await open()
    await send('/console/keys', { name: 'ann', role: 'viewer', days: '' })
    const [key] = (await service.keys.list({ projectId, limit: 1 })).data
    expect(key?.permissions).toEqual(['project:read'])
    expect(await text('/console/keys')).toContain('data-label="Permissions">viewer<')
    const both = { name: 'b', role: 'viewer', permissions: 'project:message', days: '' }
    const refused = await send('/console/keys', both)
    expect(await refused.text()).toContain('role must be absent if permissions is given')
  })

  it('is named before its revocation, and must exist', async () => {
    const { text, get, cookie, service, projectId } = await open()
    const names = Array.from({ length: 101 }, (_, i) => `key ${i}`)
    for (const name of names)
      await service.keys.create({ projectId, name, permissions: ['project:message'] })
    const page = await service.keys.list({ projectId, limit: 100 })
    const last = await service.keys.list({ projectId, limit: 9, cursor: page.nextCursor ?? '' })
    const oldest = last.data.find(({ name }) => name === 'key 0')
    expect(await text(`/console/keys/${oldest?.id}/revoke`)).toContain('key 0')
    const unknown = '01a2087e-bb88-712b-ac6f-8ca626ef0ec3'
    expect((await get(`/console/keys/${unknown}/revoke`, cookie)).status).toBe(404)
  })
})

it('the charts of an hour have tenths of a percent, and the time in their middle', async () => {
  const { text, service, projectId, sender, clock, create } = await openWithWebhooks()
  const webhookId = await create('failing')
  sender.script({ kind: 'refused', statusCode: 503, responseBody: '' })
  for (let n = 0; n < 3; n += 1) {
    await service.webhooks.sendTestEvent({ projectId, webhookId })
    await clock.advance(0)
  }
  const overview = await text('/console')
  expect(overview).toMatch(/class="scale"[^>]*>33\.3 %</)
  const [, first = '', middle = ''] =
    /class="axis"[^>]*><span>(.*?)<\/span><span>(.*?)<\/span>/.exec(overview) ?? []
  const timeOf = (label: string) => Date.parse(`2030-01-01T${label}Z`)
  expect((timeOf(middle) - timeOf(first) + DAY) % DAY).toBe(HOUR / 2)
})

it('a bar of a chart opens its list, and the chart of response times has both shares', async () => {
  const { text, begin, clock } = await open()
  await begin()
  await clock.advance(0)
  const overview = (await text('/console')).replaceAll('&amp;', '&')
  const [, href = '', reading] =
    /<a href="([^"]+)" tabindex="-1" data-reading="([^"]+answered 1[^"]+)"/.exec(overview) ?? []
  expect(reading).toBe('01-01 00:00: answered 1, failed 0, cancelled 0')
  expect(await text(href)).toContain('Hello')
  expect(overview).toMatch(/data-reading="01-01 00:00: 95 % up to \d+ ms, half up to \d+ ms"/)
  expect(overview).toContain('95 % –, half –')
})
