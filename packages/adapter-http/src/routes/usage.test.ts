import { PERMISSIONS } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

const OPERATOR_KEY = 'an-operator-key-that-nobody-guesses'
const open = (quotas: object | undefined) =>
  openScene({ http: { operatorKey: OPERATOR_KEY }, policy: { quotas } })

describe('GET /v1/usage', () => {
  it('counts messages, runs, deliveries and bytes by day', async () => {
    const { ask, clock, createAgent } = await open({})
    await ask('POST', '/v1/webhooks', { body: { url: 'https://a.example', events: ['*'] } })
    const agent = await createAgent()
    const path = `/v1/agents/${agent.id}/messages`
    await ask('POST', path, { body: aMessage({ message: 'äö', metadata: { a: 1 } }) })
    await clock.advance(1_000)
    const { json } = await ask('GET', '/v1/usage')
    expect(json).toMatchObject({ from: '2029-12-03', to: '2030-01-01', isCounted: true })
    expect(json.days).toHaveLength(1)
    const { date, ...counts } = json.days[0]
    expect(date).toBe('2030-01-01')
    expect(counts).toEqual(json.total)
    expect(json.total).toMatchObject({ messages: 1, runs: 1, bytesIn: 4 + '{"a":1}'.length })
    expect(json.total.deliveries).toBe(json.total.attempts)
    expect(json.total.attempts).toBeGreaterThan(0)
    expect(json.total.bytesOut).toBeGreaterThan(100)
  })

  it('counts a replay under an idempotency key once', async () => {
    const { ask, createAgent } = await open({})
    const agent = await createAgent()
    const send = { body: aMessage(), headers: { 'Idempotency-Key': 'one' } }
    await ask('POST', `/v1/agents/${agent.id}/messages`, send)
    await ask('POST', `/v1/agents/${agent.id}/messages`, send)
    expect((await ask('GET', '/v1/usage')).json.total.messages).toBe(1)
  })

  it('counts nothing unless quotas are on, and says so', async () => {
    const { ask, createAgent } = await open(undefined)
    const agent = await createAgent()
    await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    expect((await ask('GET', '/v1/usage')).json).toMatchObject({ isCounted: false, days: [] })
  })

  it('checks the range', async () => {
    const { ask } = await open({})
    const year = await ask('GET', '/v1/usage?from=2029-01-01&to=2029-12-31')
    expect(year.json).toMatchObject({ from: '2029-01-01', to: '2029-12-31', days: [] })
    for (const [range, problem] of [
      ['from=2029-01-02&to=2029-01-01', 'from must not be after to'],
      ['from=2027-01-01&to=2029-01-01', 'from must be less than 366 days before to'],
      ['from=yesterday', 'from must be a date such as 2030-01-31'],
    ])
      expect((await ask('GET', `/v1/usage?${range}`)).json.error.message).toContain(problem)
  })

  it('needs project:admin, and shows another project only to the operator', async () => {
    const { ask, createAgent, keyWith, otherKey, project } = await open({})
    const agent = await createAgent()
    await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    const { key } = await keyWith(PERMISSIONS.filter((name) => name !== 'project:admin'))
    expect((await ask('GET', '/v1/usage', { key })).status).toBe(403)
    expect((await ask('GET', '/v1/usage', { key: otherKey })).json.total.messages).toBe(0)
    const path = `/v1/projects/${project.id}/usage`
    expect((await ask('GET', path, { key: otherKey })).status).toBe(401)
    const asOperator = { key: OPERATOR_KEY }
    expect((await ask('GET', path, asOperator)).json.total.messages).toBe(1)
    expect((await ask('GET', `/v1/projects/${UNKNOWN_ID}/usage`, asOperator)).status).toBe(404)
  })
})
