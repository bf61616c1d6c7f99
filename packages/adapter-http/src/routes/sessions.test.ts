import { describe, expect, it } from 'vitest'
import { aMessage, openScene } from '../../test/scene.js'

async function openWithSessions(...sessionIds: string[]) {
  const scene = await openScene()
  const agent = await scene.createAgent()
  const path = `/v1/agents/${agent.id}`
  const send = (sessionId: string, message = 'Hello?') =>
    scene.ask('POST', `${path}/messages`, { body: aMessage({ sessionId, message }) })
  for (const sessionId of sessionIds) await send(sessionId)
  return { ...scene, path, send }
}

describe('GET …/sessions', () => {
  it('the list is paged, newest message first', async () => {
    const { ask, path, send } = await openWithSessions('a', 'b', 'c')
    const last = await send('a')
    const first = await ask('GET', `${path}/sessions?limit=2`)
    expect(first.status).toBe(200)
    expect(first.json.data.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([
      'a',
      'c',
    ])
    expect(first.json.data[0]).toEqual({
      sessionId: 'a',
      openCount: 0,
      lastMessageId: last.json.messageId,
      lastMessageAt: expect.stringMatching(/Z$/),
    })
    const second = await ask('GET', `${path}/sessions?limit=2&cursor=${first.json.nextCursor}`)
    expect([second.json.data[0].sessionId, second.json.nextCursor]).toEqual(['b', null])
  })

  it('answers 404 for a missing agent, and requires project:message', async () => {
    const { ask, path, keyWith, otherKey } = await openWithSessions()
    expect((await ask('GET', '/v1/agents/nobody/sessions')).status).toBe(404)
    expect((await ask('GET', `${path}/sessions`, { key: otherKey })).status).toBe(404)
    expect(
      (await ask('GET', `${path}/sessions`, { key: (await keyWith(['project:agents'])).key }))
        .status,
    ).toBe(403)
    expect((await ask('GET', `${path}/sessions?limit=0`)).status).toBe(400)
  })
})

describe('GET …/messages?sessionId=', () => {
  it('lists the messages of a session in order', async () => {
    const { ask, path, send } = await openWithSessions('other')
    for (const message of ['1', '2', '3']) await send('s', message)
    const texts = async (query: string) =>
      (await ask('GET', `${path}/messages?${query}`)).json.data.map(
        ({ message }: { message: string }) => message,
      )
    expect(await texts('sessionId=s&order=asc')).toEqual(['1', '2', '3'])
    expect(await texts('sessionId=s')).toEqual(['3', '2', '1'])
    const { json } = await ask('GET', `${path}/messages?sessionId=s&order=asc&limit=2`)
    expect(await texts(`sessionId=s&order=asc&cursor=${json.nextCursor}`)).toEqual(['3'])
    expect((await ask('GET', `${path}/messages?order=up`)).status).toBe(400)
  })
})

describe('DELETE …/sessions/:sessionId', () => {
  it('erases a session with any name', async () => {
    const names = ['plain', 'a/b?c#d', 'ü 100%', '😀']
    const { ask, path } = await openWithSessions('kept', ...names)
    for (const name of names)
      expect(
        (await ask('DELETE', `${path}/sessions/${encodeURIComponent(name)}`)).status,
        name,
      ).toBe(204)
    for (const name of names)
      expect(
        (await ask('DELETE', `${path}/sessions/${encodeURIComponent(name)}`)).status,
        name,
      ).toBe(404)
    const { json } = await ask('GET', `${path}/sessions`)
    expect(json.data.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(['kept'])
    expect((await ask('GET', `${path}/messages`)).json.data).toHaveLength(1)
  })

  it('refuses while messages are open, unless forced', async () => {
    const { ask, createSlowAgent } = await openScene()
    const agent = await createSlowAgent()
    await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage(),
      headers: { Prefer: 'respond-async' },
    })
    const path = `/v1/agents/${agent.id}/sessions/session`
    const refused = await ask('DELETE', path)
    expect([refused.status, refused.json.error.code]).toEqual([409, 'CONFLICT'])
    expect((await ask('DELETE', `${path}?force=yes`)).status).toBe(400)
    expect((await ask('DELETE', `${path}?force=true`)).status).toBe(204)
  })

  it('answers 404 for an illegal session', async () => {
    const { ask, path, otherKey } = await openWithSessions('s')
    for (const name of ['unknown', '%00', '%', '%ff'])
      expect((await ask('DELETE', `${path}/sessions/${name}`)).status, name).toBe(404)
    expect((await ask('DELETE', `${path}/sessions/s`, { key: otherKey })).status).toBe(404)
  })
})
