import { describe, expect, it } from 'vitest'
import { aMessage, openScene } from '../../test/scene.js'

const OPERATOR_KEY = 'an-operator-key-that-nobody-guesses'
const open = (quotas?: object) =>
  openScene({ http: { operatorKey: OPERATOR_KEY }, policy: { quotas } })
const perMinute = (messagesPerMinute: number, burst: number) => ({ messagesPerMinute, burst })

describe('limits of sends', () => {
  it('refuse a send with 429, RateLimit and Retry-After, until a token is back', async () => {
    const { ask, clock, createAgent } = await open({ project: perMinute(6, 2) })
    const agent = await createAgent()
    const send = () => ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    const first = await send()
    expect(first.headers.get('ratelimit-policy')).toBe('"project";q=2;w=20')
    expect(first.headers.get('ratelimit')).toBe('"project";r=1;t=10')
    await send()
    const refused = await send()
    expect(refused.status).toBe(429)
    expect(refused.json.error).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    expect(refused.headers.get('ratelimit')).toBe('"project";r=0;t=20')
    expect(refused.headers.get('retry-after')).toBe('10')
    await clock.advance(10_000)
    expect((await send()).status).toBe(200)
  })

  it('count each API key separately, and the project as a whole', async () => {
    const { ask, createAgent, keyWith } = await open({
      project: perMinute(3, 3),
      key: perMinute(1, 1),
    })
    const agent = await createAgent()
    const send = (key?: string) =>
      ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage(), ...(key && { key }) })
    expect((await send()).headers.get('ratelimit')).toBe('"project";r=2;t=20, "key";r=0;t=60')
    const refused = await send()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    const { key } = await keyWith(['project:message'])
    expect((await send(key)).status).toBe(200)
  })

  it('show a caller without an API key only its own limit', async () => {
    const { ask, createAgent } = await open({ project: perMinute(3, 3), key: perMinute(1, 1) })
    const agent = await createAgent()
    const sessions = { ids: [aMessage().sessionId] }
    const token = await ask('POST', '/v1/session-tokens', { body: { sessions } })
    const send = () =>
      ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage(), key: token.json.token })
    for (const left of [200, 429]) {
      const { status, headers } = await send()
      expect([status, headers.get('ratelimit')]).toEqual([left, '"caller";r=0;t=60'])
      expect(headers.get('ratelimit-policy')).toBe('"caller";q=1;w=60')
    }
  })

  it('let a replay under an idempotency key pass', async () => {
    const { ask, createAgent } = await open({ project: perMinute(1, 1) })
    const agent = await createAgent()
    const headers = { 'Idempotency-Key': 'one' }
    const send = () => ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage(), headers })
    const first = await send()
    const replay = await send()
    expect(replay.status).toBe(200)
    expect(replay.json).toEqual(first.json)
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
  })

  it('come from the project, if the operator set them, within a second', async () => {
    const { ask, clock, createAgent, project, otherKey } = await open({})
    const agent = await createAgent()
    const send = () => ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect((await send()).headers.get('ratelimit')).toBeNull()
    const path = `/v1/projects/${project.id}`
    const sendLimits = { project: perMinute(1, 1) }
    const asOperator = { key: OPERATOR_KEY }
    expect((await ask('PATCH', path, { key: otherKey, body: { sendLimits } })).status).toBe(401)
    const changed = await ask('PATCH', path, { ...asOperator, body: { sendLimits } })
    expect(changed.json).toMatchObject({ id: project.id, sendLimits })
    const wrong = { sendLimits: { key: perMinute(0, 1) } }
    expect((await ask('PATCH', path, { ...asOperator, body: wrong })).status).toBe(400)
    await clock.advance(1_000)
    expect([(await send()).status, (await send()).status]).toEqual([200, 429])
    await ask('PATCH', path, { ...asOperator, body: { sendLimits: null } })
    await clock.advance(1_000)
    expect((await send()).status).toBe(200)
    expect((await ask('GET', path, asOperator)).json).not.toHaveProperty('sendLimits')
    const log = await ask('GET', '/v1/audit-log?action=project.updated')
    expect(log.json.data).toHaveLength(2)
  })

  it('have a bucket of their own for published events', async () => {
    const events = { eventsPerMinute: 60, burst: 2 }
    const { ask, clock, createAgent, project } = await open({ project: perMinute(1, 1) })
    const path = `/v1/projects/${project.id}`
    const asOperator = { key: OPERATOR_KEY }
    const wrong = { sendLimits: { events: perMinute(1, 1) } }
    expect((await ask('PATCH', path, { ...asOperator, body: wrong })).status).toBe(400)
    const body = { sendLimits: { project: perMinute(1, 1), events } }
    expect((await ask('PATCH', path, { ...asOperator, body })).json).toMatchObject(body)
    const agent = await createAgent()
    await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    const publish = (...ids: string[]) =>
      ask('POST', '/v1/events', {
        body: { events: ids.map((id) => ({ type: 'order.paid', data: {}, id })) },
      })
    const first = await publish('a')
    expect([first.status, first.headers.get('ratelimit')]).toEqual([202, '"events";r=1;t=1'])
    const refused = await publish('a', 'b', 'c')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.headers.get('ratelimit-policy')).toBe('"events";q=2;w=2')
    expect(refused.json.error).toEqual({
      code: 'TOO_MANY_REQUESTS',
      message: 'The limit of published events of this project is reached',
    })
    const replay = await publish('a')
    expect([replay.status, replay.headers.get('ratelimit')]).toEqual([202, null])
    await clock.advance(1_000)
    expect((await publish('a', 'b', 'c')).status).toBe(202)
  })

  it('have no effect while quotas are off', async () => {
    const { ask, createAgent, service, project } = await open()
    await service.projects.update({
      projectId: project.id,
      sendLimits: { project: perMinute(1, 1) },
    })
    const agent = await createAgent()
    for (let n = 0; n < 3; n++) {
      const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
      expect([sent.status, sent.headers.get('ratelimit')]).toEqual([200, null])
    }
  })
})
