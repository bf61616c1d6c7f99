import { success } from '@org/agent-messaging-core/runtime'
import { describe, expect, it, vi } from 'vitest'
import { scene } from '../test/scene.js'

const ID = '01980000-0000-7000-8000-0001365e0e54'
const NOTHING = { data: [], nextCursor: null }

/** A scene that is signed in, with a session of 26 messages. */
async function withLongSession() {
  const s = await scene()
  const cookie = await s.signIn()
  const send = async (agent: string, sessionId: string, message = 'hello') =>
    (await s.service.messages.send({ projectId: s.projectId, agent, sessionId, message })).message
  for (let i = 0; i < 26; i++) await send('bot', 'long')
  const search = (q: string) =>
    s.get(`/console/search?${new URLSearchParams({ q }).toString()}`, cookie)
  return { ...s, send, search, cookie }
}

describe('the search', () => {
  it('opens a session of more than a page straight at its page', async () => {
    const { search, service, projectId } = await withLongSession()
    const { id } = await service.agents.get({ projectId, agent: 'bot' })
    const found = await search('long')
    expect(found.status).toBe(302)
    expect(found.headers.get('location')).toBe(`/console/sessions/${id}?session=long`)
  })

  it('lists the sessions of two agents, also if one has only old messages', async () => {
    const { search, service, projectId, send } = await withLongSession()
    const runtime = { kind: 'fake' }
    await service.agents.create({ projectId, name: 'other', runtime, desiredState: 'running' })
    await send('other', 'long')
    for (let i = 0; i < 26; i++) await send('bot', 'long')
    const found = await search('long')
    expect(found.status).toBe(200)
    const page = await found.text()
    for (const agent of ['bot', 'other']) expect(page).toContain(`of the agent ${agent}<`)
  })

  it.each(['\0', 'lo\0ng', '\ud800', 'x'.repeat(100), `"' OR 1=1 --`, 'a* NEAR(b) AND "', '%_\\'])(
    'finds nothing for %j',
    async (q) => {
      const { search, thrown } = await withLongSession()
      const found = await search(q)
      expect(found.status).toBe(200)
      expect(await found.text()).toContain('Nothing found')
      expect(thrown).toEqual([])
    },
  )

  it('finds sessions by a part of their name', async () => {
    const { search, send, service, projectId } = await withLongSession()
    const { id } = await service.agents.get({ projectId, agent: 'bot' })
    await send('bot', 'Ticket/4711')
    await send('bot', 'ticket/4712')
    const page = await (await search('TICKET/47')).text()
    for (const name of ['Ticket%2F4711', 'ticket%2F4712'])
      expect(page).toContain(`href="/console/sessions/${id}?session=${name}"`)
    expect(page).toContain('of the agent bot<')
  })

  it.each(['365e0e54', '…365e0e54', '…0001365E0E54'])(
    'opens the message, the delivery or the webhook whose id ends with %s',
    async (end) => {
      const { search, send, service, storage, projectId, clock } = await withLongSession()
      const pathOf = async () => (await search(end)).headers.get('location')
      const url = 'https://example.com/'
      const hook = await service.webhooks.create({ projectId, url, events: ['*'] })
      await send('bot', 'other')
      await clock.advance(0)
      const page = { limit: 1 }
      const [delivery] = (await service.deliveries.list({ projectId, ...page })).data
      const [found] = (await service.messages.search({ projectId, ...page })).data
      if (!delivery || !found) throw new Error('nothing was sent')

      const deliveries = { data: [{ ...delivery, id: ID }], nextCursor: null }
      const list = vi.spyOn(storage.deliveries, 'list').mockResolvedValue(success(deliveries))
      expect(await pathOf()).toBe(`/console/deliveries/${ID}`)
      list.mockRestore()
      const messages = { data: [{ ...found.message, id: ID }], nextCursor: null }
      const messagesBy = vi.spyOn(storage.messages, 'search')
      messagesBy.mockImplementation(async ({ text }) =>
        success(text === undefined ? NOTHING : messages),
      )
      expect(await pathOf()).toBe(`/console/messages/${ID}`)
      const hooks = { data: [{ ...hook.webhook, id: ID }], nextCursor: null }
      vi.spyOn(storage.webhooks, 'list').mockResolvedValue(success(hooks))
      expect(await pathOf()).toBe(`/console/webhooks/${ID}`)
    },
  )

  it('says how far it looked, and goes on from there', async () => {
    const { search, storage, get, cookie } = await withLongSession()
    const page = { data: [], nextCursor: ID, lookedBackTo: Date.UTC(2030, 0, 1, 14, 47) }
    vi.spyOn(storage.messages, 'search').mockImplementation(async ({ text }) =>
      success(text === undefined ? NOTHING : page),
    )
    for (const found of [
      await search('wanted'),
      await get('/console/conversations?text=wanted', cookie),
    ]) {
      const text = await found.text()
      expect(text).toMatch(/No match\. Looked back to <time [^>]+>2030-01-01 14:47:00 /)
      expect(text).toMatch(
        new RegExp(
          `href="/console/conversations\\?text=wanted&amp;cursor=${ID}"[^>]*>\\s*Look further`,
        ),
      )
    }
  })

  it('refuses a text of more than 100 characters, unless it is a name', async () => {
    const { search, send, get, cookie } = await withLongSession()
    const long = 'x'.repeat(101)
    for (const refused of [
      await search(long),
      await get(`/console/conversations?text=${long}`, cookie),
    ]) {
      expect(refused.status).toBe(400)
      expect(await refused.text()).toContain('text must have at most 100 characters')
    }
    await send('bot', long)
    expect((await search(long)).status).toBe(302)
  })
})
