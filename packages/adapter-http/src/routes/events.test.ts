import { describe, expect, it } from 'vitest'
import { aMessage, openScene } from '../../test/scene.js'

async function openWithEvents() {
  const scene = await openScene()
  const agent = await scene.createAgent()
  const send = (): Promise<unknown> =>
    scene.ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
  return { ...scene, agent, send }
}

const namesOf = ({ data }: { data: { event: { event: string } }[] }): string[] =>
  data.map(({ event }) => event.event)

describe('GET /v1/events', () => {
  it('reads events in their order, without a webhook, and continues after a cursor', async () => {
    const { ask, send } = await openWithEvents()
    await send()
    const { status, json: page } = await ask('GET', '/v1/events')
    expect([status, namesOf(page)]).toEqual([200, ['agent.started', 'message.responded']])
    expect(page.data[1].event.data).toMatchObject({ response: 'Hello?' })
    expect(page.nextCursor).toBe(page.data[1].cursor)
    const rest = (await ask('GET', `/v1/events?after=${page.data[0].cursor}`)).json
    expect(namesOf(rest)).toEqual(['message.responded'])
    const end = (await ask('GET', `/v1/events?after=${page.nextCursor}`)).json
    expect(end).toEqual({ data: [], nextCursor: page.nextCursor })
    expect(namesOf((await ask('GET', '/v1/events?limit=1')).json)).toEqual(['agent.started'])
  })

  it('waits for the next event', async () => {
    const { ask, send } = await openWithEvents()
    const { nextCursor } = (await ask('GET', '/v1/events')).json
    const waiting = ask('GET', `/v1/events?wait=30&after=${nextCursor}`)
    await send()
    expect(namesOf((await waiting).json)).toEqual(['message.responded'])
  })

  it('answers with an empty page after the wait, and at a stop', async () => {
    const { ask, clock, service } = await openWithEvents()
    const { nextCursor } = (await ask('GET', '/v1/events')).json
    const empty = { data: [], nextCursor }
    const waiting = ask('GET', `/v1/events?wait=2&after=${nextCursor}`)
    await clock.advance(2_000)
    expect((await waiting).json).toEqual(empty)
    const last = ask('GET', `/v1/events?wait=60&after=${nextCursor}`)
    await clock.advance(1_000)
    void service.stop()
    expect((await last).json).toEqual(empty)
  })

  it('ends the wait of a key that is revoked', async () => {
    const { ask, clock, keyWith, project, service } = await openWithEvents()
    const { nextCursor } = (await ask('GET', '/v1/events')).json
    const { key, apiKey } = await keyWith(['project:events'])
    const waiting = ask('GET', `/v1/events?wait=60&after=${nextCursor}`, { key })
    await clock.advance(1_000)
    await service.keys.revoke({ projectId: project.id, keyId: apiKey.id })
    for (let seconds = 0; seconds < 20; seconds++) await clock.advance(1_000)
    expect((await waiting).status).toBe(401)
  })

  it('answers 410 if events after the cursor were purged', async () => {
    const { ask, clock, storage } = await openWithEvents()
    const { cursor } = (await ask('GET', '/v1/events?limit=1')).json.data[0]
    const beginning = cursor.replace(/^\d+-(\w+).*/, '0-$1')
    await storage.events.purge({ createdBefore: clock.now() + 1, limit: 10 })
    const { status, json } = await ask('GET', `/v1/events?after=${beginning}`)
    expect([status, json.error.code]).toEqual([410, 'GONE'])
    expect((await ask('GET', '/v1/events')).json.data).toEqual([])
  })

  it('needs its permission, shows no other project, and refuses unknown parameters', async () => {
    const { ask, keyWith, otherKey } = await openWithEvents()
    const { key } = await keyWith(['project:webhooks', 'project:admin'])
    expect((await ask('GET', '/v1/events', { key })).status).toBe(403)
    expect((await ask('GET', '/v1/events', { key: otherKey })).json.data).toEqual([])
    for (const query of ['cursor=1', 'after=x', 'after=1', 'wait=61', 'limit=101'])
      expect((await ask('GET', `/v1/events?${query}`)).status, query).toBe(400)
  })
})
