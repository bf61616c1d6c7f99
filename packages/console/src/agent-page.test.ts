import { describe, expect, it } from 'vitest'
import type { Permission } from '@org/agent-messaging-core'
import { ORIGIN, scene } from '../test/scene.js'

const DAY = 86_400_000

/** Two answered messages and a failed one of `bot`, of two people, and one of another agent. */
async function open(permissions?: readonly Permission[]) {
  const s = await scene(permissions && { permissions })
  const { projectId, service, clock } = s
  const runtime = { kind: 'fake' }
  await service.agents.create({ projectId, name: 'other', runtime, desiredState: 'running' })
  const send = (agent: string, message: string, endUserId: string) =>
    service.messages.send({
      projectId,
      agent,
      sessionId: endUserId,
      message,
      executionPrincipal: { type: 'end_user', endUserId },
    })
  await send('bot', 'hello', 'ann')
  await send('bot', 'hello', 'bob')
  await send('bot', 'fail', 'ann')
  await send('other', 'of another agent', 'eve')
  await clock.advance(0)
  const cookie = await s.signIn()
  const page = async (path = '/agents/bot') => (await s.get(`/console${path}`, cookie)).text()
  const save = (form: Record<string, string>) =>
    s.post('/console/agents/bot', form, { origin: ORIGIN, cookie })
  const agent = await service.agents.get({ projectId, agent: 'bot' })
  return { ...s, page, save, cookie, agent }
}

const tilesIn = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<dt>([^<]+)<\/dt><dd class="value"><a href="[^"]*">([^<]*)</g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  )

describe('the page of an agent', () => {
  it('has its exact numbers, its people, its settings and its failed messages', async () => {
    const { page, agent } = await open()
    for (const path of ['/agents/bot', `/agents/${agent.id}`, '/agents/bot?range=7d']) {
      const text = await page(path)
      expect(tilesIn(text)).toEqual({
        Messages: '3',
        'Failed messages': '1',
        'Response time': 'up to 100 ms',
        Tokens: '7',
        'People today': '2',
      })
      expect(text).toContain('the &lt;b&gt;model&lt;/b&gt; is busy')
      expect(text).not.toContain('of another agent')
      expect(text).toContain('href="/console/conversations?agent=bot&amp;state=failed"')
      expect(text).toContain('name="maxAttempts" value="3"')
    }
  })

  it('counts the people of yesterday too', async () => {
    const { get, signIn, jump, service } = await open()
    await jump(DAY + 300_000)
    await service.tick({ budgetMs: 1_000 })
    const page = await get('/console/agents/bot', await signIn())
    expect(await page.text()).toContain('since 00:00 UTC, yesterday 2;')
  })

  it('changes settings, and names the problem of a wrong one', async () => {
    const { page, save, service, agent } = await open()
    const { projectId } = agent
    const read = async () => service.agents.get({ projectId, agent: 'bot' })
    const saved = await save({ concurrency: '4', maxAttempts: '', maxQueued: '0' })
    expect([saved.status, saved.headers.get('location')]).toEqual([
      303,
      '/console/agents/bot?notice=agentChanged',
    ])
    expect(await read()).toMatchObject({ concurrency: 4, maxAttempts: 3, maxQueued: 0 })
    for (const wrong of ['"><script>', '1.5', '0']) {
      const refused = await save({ concurrency: wrong, maxAttempts: '3', maxQueued: '0' })
      const text = await refused.text()
      expect(refused.status).toBe(400)
      expect(text).toContain('concurrency must be a whole number from 1 to 1000')
      expect(text).not.toContain('"><script>')
    }
    expect((await read()).concurrency).toBe(4)
    expect(await page()).toContain('name="concurrency" value="4"')
  })

  it('starts and stops the agent, and comes back', async () => {
    const { page, post, cookie, agent } = await open()
    const [, action = ''] = /action="([^"]*stop[^"]*)"/.exec(await page()) ?? []
    const stopped = await post(action, {}, { origin: ORIGIN, cookie })
    expect(stopped.headers.get('location')).toBe(`/console/agents/${agent.id}?notice=stopped`)
  })

  it('shows no messages to a key that cannot read them', async () => {
    const { page } = await open(['project:agents'])
    const text = await page()
    expect(tilesIn(text)).toEqual({})
    expect(text).not.toContain('Failed messages')
    expect(text).not.toContain('Sessions')
    expect(text).toContain('name="maxQueued" value="100"')
    expect(await page('/agents')).not.toContain('p95')
  })

  it('shows everything to a viewer, and no form', async () => {
    const { page, save } = await open(['project:read'])
    const text = await page()
    expect(tilesIn(text)).toMatchObject({ Messages: '3' })
    expect(text).toContain('Maximum runs of one message</dt><dd>3</dd>')
    expect(text).not.toContain(`action="/console/agents`)
    expect((await save({ concurrency: '4' })).status).toBe(403)
  })
})

it('the list of agents has the numbers of 24 hours', async () => {
  const { page } = await open()
  const list = await page('/agents')
  const cells = (name: string) => {
    const row = list.split('<tr>').find((one) => one.includes(`>${name}</a>`)) ?? ''
    return ['Messages', 'Failed', 'p50', 'p95', 'Tokens'].map(
      (title) => new RegExp(`data-label="${title}">(?:<a[^>]*>)?([^<]*)`).exec(row)?.[1],
    )
  }
  expect(cells('bot')).toEqual(['3', '1', 'up to 100 ms', 'up to 100 ms', '7'])
  expect(cells('other')).toEqual(['1', '0', 'up to 100 ms', 'up to 100 ms', '0'])
  expect(list).toContain('aria-label="2 answered, 1 failed"')
  const file = await page('/agents?format=csv')
  expect(file).toMatch(/^\ufeff?Agent,State,Runtime,24 hours,Messages,Failed,p50,p95,Tokens\r\n/)
  expect(file).toMatch(/^bot [\w-]{36},.*,3,1,up to 100 ms,up to 100 ms,7\r$/m)
})
