import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

const OPERATOR_KEY = 'an-operator-key-that-nobody-guesses'
const open = () => openScene({ http: { operatorKey: OPERATOR_KEY } })

describe('GET /v1/usage', () => {
  it('counts messages, runs, deliveries and bytes by day', async () => {
    const { ask, clock, createAgent } = await open()
    await ask('POST', '/v1/webhooks', { body: { url: 'https://a.example', events: ['*'] } })
    const agent = await createAgent()
    const path = `/v1/agents/${agent.id}/messages`
    await ask('POST', path, { body: aMessage({ message: 'äö', metadata: { a: 1 } }) })
    await clock.advance(1_000)
    const { json } = await ask('GET', '/v1/usage')
    expect(json).toMatchObject({ from: '2029-12-03', to: '2030-01-01' })
    expect(json.days).toHaveLength(1)
    const { date, people, ...counts } = json.days[0]
    expect([date, people]).toEqual(['2030-01-01', null])
    expect(counts).toEqual(json.total)
    expect(json.total).toMatchObject({ messages: 1, runs: 1, bytesIn: 4 + '{"a":1}'.length })
    expect(json.total.deliveries).toBe(json.total.attempts)
    expect(json.total.attempts).toBeGreaterThan(0)
    expect(json.total.bytesOut).toBeGreaterThan(100)
  })

  it('counts a replay under an idempotency key once', async () => {
    const { ask, createAgent } = await open()
    const agent = await createAgent()
    const send = { body: aMessage(), headers: { 'Idempotency-Key': 'one' } }
    await ask('POST', `/v1/agents/${agent.id}/messages`, send)
    await ask('POST', `/v1/agents/${agent.id}/messages`, send)
    expect((await ask('GET', '/v1/usage')).json.total.messages).toBe(1)
  })

  it('has the people of days that are over, and those of today so far', async () => {
    const { ask, clock, createAgent } = await open()
    const agent = await createAgent()
    const sendBy = (endUserId: string) => {
      const executionPrincipal = { type: 'end_user', endUserId }
      const body = aMessage({ sessionId: endUserId, executionPrincipal })
      return ask('POST', `/v1/agents/${agent.id}/messages`, { body })
    }
    await sendBy('ann')
    await sendBy('bob')
    const read = async () => {
      const { days, peopleToday, total } = (await ask('GET', '/v1/usage')).json
      const { rows, peopleToday: again } = (await ask('GET', '/v1/stats?step=1d')).json
      expect([total.people, again]).toEqual([undefined, peopleToday])
      const people = days.map((row: { people: number | null }) => row.people)
      expect(rows.map((row: { people: number | null }) => row.people)).toEqual(people)
      return [people, peopleToday]
    }
    expect(await read()).toEqual([[null], { count: 2, isExact: true }])
    clock.set(clock.now() + 25 * 3_600_000)
    await clock.advance(60_000)
    await sendBy('ann')
    expect(await read()).toEqual([[2, null], { count: 1, isExact: true }])
  })

  it('checks the range', async () => {
    const { ask } = await open()
    const year = await ask('GET', '/v1/usage?from=2029-01-01&to=2029-12-31')
    expect(year.json).toMatchObject({ from: '2029-01-01', to: '2029-12-31', days: [] })
    for (const [range, problem] of [
      ['from=2029-01-02&to=2029-01-01', 'from must not be after to'],
      ['from=2027-01-01&to=2029-01-01', 'from must be less than 600 steps before to'],
      ['from=yesterday', 'from must be a date such as 2030-01-31'],
    ])
      expect((await ask('GET', `/v1/usage?${range}`)).json.error.message).toContain(problem)
  })

  it('needs project:admin, and shows another project only to the operator', async () => {
    const { ask, createAgent, keyWith, otherKey, project } = await open()
    const agent = await createAgent()
    await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    const { key } = await keyWith(['project:message', 'project:audit'])
    expect((await ask('GET', '/v1/usage', { key })).status).toBe(403)
    expect((await ask('GET', '/v1/usage', { key: otherKey })).json.total.messages).toBe(0)
    const path = `/v1/projects/${project.id}/usage`
    expect((await ask('GET', path, { key: otherKey })).status).toBe(401)
    const asOperator = { key: OPERATOR_KEY }
    expect((await ask('GET', path, asOperator)).json.total.messages).toBe(1)
    expect((await ask('GET', `/v1/projects/${UNKNOWN_ID}/usage`, asOperator)).status).toBe(404)
  })
})

describe('GET /v1/stats', () => {
  it('counts the project, each agent and each webhook by step of time', async () => {
    const { ask, clock, createAgent } = await open()
    const hook = { url: 'https://a.example', events: ['message.responded'] }
    const webhook = (await ask('POST', '/v1/webhooks', { body: hook })).json
    const agents = [await createAgent(), await createAgent()]
    for (const { id } of [...agents, agents[0] as { id: string }]) {
      await ask('POST', `/v1/agents/${id}/messages`, { body: aMessage() })
      await clock.advance(1_000)
    }
    const start = '2030-01-01T00:00:00.000Z'
    const project = (await ask('GET', '/v1/stats?step=5m')).json
    expect(project).toMatchObject({ from: '2029-12-31T23:05:00.000Z', to: start, stepMs: 300_000 })
    expect(project.rows).toEqual([{ at: start, ...project.total }])
    expect(project.total).toMatchObject({ messages: 3, runs: 3, answered: 3, failed: 0 })
    expect(project.total.byTime.reduce((sum: number, n: number) => sum + n, 0)).toBe(3)

    const byAgent = (await ask('GET', '/v1/stats?by=agent')).json
    expect(byAgent.stepMs).toBe(3_600_000)
    const messagesOf = (id: string) =>
      byAgent.rows.find((row: { id: string }) => row.id === id).messages
    expect(agents.map(({ id }) => messagesOf(id))).toEqual([2, 1])
    const one = (await ask('GET', `/v1/stats?by=agent&id=${agents[1]?.id}`)).json
    expect(one.rows).toMatchObject([{ at: start, id: agents[1]?.id, messages: 1 }])

    const byWebhook = (await ask('GET', '/v1/stats?by=webhook&step=1d')).json
    const [row] = byWebhook.rows
    expect(row).toMatchObject({ id: webhook.id, attempts: 3, messages: 0 })
    const { byClass } = row
    expect(Object.values<number>(byClass).reduce((sum, n) => sum + n, 0)).toBe(3)
  })

  it.each([
    ['step=2h', 'must be one of: 5m, 1h, 1d'],
    ['by=project', 'must be one of: agent, webhook'],
    ['from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z', 'from must not be after to'],
    ['step=5m&from=2029-12-29T00:00:00Z&to=2029-12-29T01:00:00Z', 'from must be within 48 hours'],
    ['step=1h&from=2029-09-01T00:00:00Z&to=2029-09-02T00:00:00Z', 'from must be within 90 days'],
    ['step=1d&from=2027-01-01T00:00:00Z', 'from must be less than 600 steps before to'],
  ])('refuses %s', async (range, problem) => {
    const { ask } = await open()
    const { status, json } = await ask('GET', `/v1/stats?${range}`)
    expect([status, json.error.message]).toEqual([400, expect.stringContaining(problem)])
  })
})

describe('GET /v1/failures', () => {
  it('shows what fails in the own project to its administrators', async () => {
    const { ask, clock, runtime, createSlowAgent, keyWith, otherKey } = await open()
    const agent = await createSlowAgent()
    const path = `/v1/agents/${agent.id}/messages`
    const asked = { body: aMessage(), headers: { Prefer: 'respond-async' } }
    const { messageId } = (await ask('POST', path, asked)).json
    runtime.fail(messageId, '<script>alert(1)</script>')
    await clock.advance(100)
    const { json } = await ask('GET', '/v1/failures')
    expect(json.failures).toMatchObject([
      {
        subject: 'agent',
        id: agent.id,
        isFailing: true,
        failed: 1,
        recent: 1,
        since: '2030-01-01T00:00:00.000Z',
        last: { id: messageId, text: '<script>alert(1)</script>' },
      },
    ])
    expect((await ask('GET', '/v1/failures', { key: otherKey })).json.failures).toEqual([])
    const { key } = await keyWith(['project:message', 'project:audit'])
    expect((await ask('GET', '/v1/failures', { key })).status).toBe(403)
    const old = await ask('GET', '/v1/failures?from=2029-12-29T00:00:00Z')
    expect([old.status, old.json.error.message]).toEqual([
      400,
      expect.stringContaining('from must be within the last 48 hours'),
    ])
  })
})

it('the operator sees the open work and the usage of each project, and no text', async () => {
  const { ask, createAgent, project } = await open()
  await ask('POST', '/v1/webhooks', { body: { url: 'https://a.example', events: ['*'] } })
  const agent = await createAgent()
  await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage({ message: 'secret' }) })
  const overview = (key?: string) =>
    ask('GET', '/v1/operator/projects?limit=1', key === undefined ? {} : { key })
  expect((await overview()).status).toBe(401)
  const { status, json } = await overview(OPERATOR_KEY)
  expect(status).toBe(200)
  expect(json.data).toMatchObject([
    { id: project.id, failingWebhooks: 0, heldDeliveries: 0, usage: { messages: 1 } },
  ])
  expect(JSON.stringify(json)).not.toContain('secret')
})
