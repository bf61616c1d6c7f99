import { describe, expect, it } from 'vitest'
import { scene } from '../test/scene.js'

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
