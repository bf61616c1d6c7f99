import { describe, expect, it } from 'vitest'
import { aMessage, openScene } from '../../test/scene.js'

const nothing = { messages: 0, openMessages: 0, deliveries: 0, events: 0, nextCursor: null }

async function openWith(...endUserIds: string[]) {
  const scene = await openScene()
  const agent = await scene.createAgent()
  await scene.ask('POST', '/v1/webhooks', {
    body: { url: 'https://receiver.example/hook', events: ['*'] },
  })
  const send = (endUserId: string, sessionId = endUserId) =>
    scene.ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage({ sessionId, executionPrincipal: { type: 'end_user', endUserId } }),
    })
  for (const endUserId of endUserIds) await send(endUserId)
  return {
    ...scene,
    agent,
    send,
    of: (endUserId: string, query = '') =>
      `/v1/principals/${encodeURIComponent(endUserId)}${query}`,
  }
}

describe('GET and DELETE /v1/principals/:endUserId', () => {
  it('count and erase the data of an end user with any id', async () => {
    const names = ['customer-42', 'a/b?c#d', 'ü 100%', '😀']
    const { ask, of, agent } = await openWith('other', ...names)
    for (const name of names) {
      const found = { ...nothing, messages: 1, deliveries: 1 }
      expect((await ask('GET', of(name))).json, name).toEqual(found)
      const erased = await ask('DELETE', of(name))
      expect([erased.status, erased.json], name).toEqual([200, found])
      expect((await ask('GET', of(name))).json, name).toEqual(nothing)
    }
    const { json } = await ask('GET', `/v1/agents/${agent.id}/messages`)
    expect(json.data.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(['other'])
  })

  it('keep messages that are not final, unless forced', async () => {
    const { ask, of, createSlowAgent } = await openWith()
    const { id } = await createSlowAgent()
    const body = aMessage({ executionPrincipal: { type: 'end_user', endUserId: 'u' } })
    await ask('POST', `/v1/agents/${id}/messages`, { body, headers: { Prefer: 'respond-async' } })
    expect((await ask('DELETE', of('u'))).json).toEqual({ ...nothing, openMessages: 1 })
    expect((await ask('DELETE', of('u', '?force=yes'))).status).toBe(400)
    expect((await ask('DELETE', of('u', '?force=true'))).json).toEqual({ ...nothing, messages: 1 })
  })

  it('continue from a cursor, and refuse an illegal one', async () => {
    const { ask, of, agent } = await openWith('u')
    expect((await ask('GET', of('u', `?cursor=${agent.id}.`))).json).toEqual({
      ...nothing,
      deliveries: 1,
      events: 0,
    })
    expect((await ask('DELETE', of('u', '?cursor=.0'))).json).toEqual({ ...nothing, deliveries: 1 })
    expect((await ask('GET', of('u', '?cursor=x'))).json.error).toMatchObject({
      code: 'BAD_REQUEST',
      issues: [{ path: 'cursor' }],
    })
  })

  it('refuse an illegal id and a missing permission, and see only their project', async () => {
    const { ask, of, keyWith, otherKey } = await openWith('u')
    for (const [segment, status] of [
      ['%00', 404],
      ['x'.repeat(257), 400],
    ] as const)
      expect((await ask('GET', `/v1/principals/${segment}`)).status, segment).toBe(status)
    const { key } = await keyWith(['project:message', 'project:agents', 'project:webhooks'])
    for (const method of ['GET', 'DELETE'])
      expect((await ask(method, of('u'), { key })).status).toBe(403)
    expect((await ask('DELETE', of('u'), { key: otherKey })).json).toEqual(nothing)
    expect((await ask('GET', of('u'))).json.messages).toBe(1)
  })
})
