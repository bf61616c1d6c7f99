import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID, type Scene } from '../../test/scene.js'

/** Sends a message whose run never ends. */
async function openRunning(settings: Record<string, unknown> = {}) {
  const scene = await openScene()
  const agent = await scene.createSlowAgent(settings)
  const path = await send(scene, agent.id)
  await scene.clock.until(() => scene.runtime.openRuns.length === 1)
  return { ...scene, agent, path, messageId: path.split('/').at(-1) ?? '' }
}

async function send({ ask }: Scene, agentId: string): Promise<string> {
  const sent = await ask('POST', `/v1/agents/${agentId}/messages`, {
    body: aMessage(),
    headers: { Prefer: 'respond-async' },
  })
  return sent.headers.get('location') ?? ''
}

describe('POST …/messages/:messageId/cancel', () => {
  it('cancels the message, and gives the same answer again', async () => {
    const { ask, path } = await openRunning()
    const cancelled = await ask('POST', `${path}/cancel`)
    expect([cancelled.status, cancelled.json]).toMatchObject([
      200,
      {
        status: 'pending',
        state: 'cancelled',
        error: { code: 'CANCELLED', message: expect.any(String) },
      },
    ])
    expect((await ask('POST', `${path}/cancel`)).json).toEqual(cancelled.json)
    expect((await ask('GET', path)).json).toEqual(cancelled.json)
    const listed = await ask('GET', path.replace(/[^/]+$/, '').replace(/\/$/, '?state=cancelled'))
    expect(listed.json.data).toEqual([cancelled.json])
  })

  it('ends the wait of other callers with a 202', async () => {
    const { ask, agent, clock, runtime } = await openRunning()
    const sending = ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage({ sessionId: 'another' }),
    })
    await clock.until(() => runtime.openRuns.length === 2)
    await ask('POST', `/v1/agents/${agent.id}/messages/${runtime.openRuns[1]}/cancel`)
    const sent = await sending
    expect([sent.status, sent.json]).toMatchObject([202, { status: 'pending' }])
  })

  it('refuses an answered message', async () => {
    const { ask, clock, path, runtime, messageId } = await openRunning()
    runtime.answer(messageId, 'done')
    await clock.advance(0)
    const refused = await ask('POST', `${path}/cancel`)
    expect([refused.status, refused.json.error.code]).toEqual([409, 'CONFLICT'])
  })
})

describe('POST …/messages/:messageId/retry', () => {
  it('puts a cancelled message back into the queue', async () => {
    const { ask, clock, path, runtime, messageId } = await openRunning()
    await ask('POST', `${path}/cancel`)
    const retried = await ask('POST', `${path}/retry`)
    expect([retried.status, retried.json]).toMatchObject([
      202,
      { messageId, status: 'pending', state: 'queued', attempt: 0 },
    ])
    expect(retried.json).not.toHaveProperty('error')
    await clock.until(() => runtime.openRuns.length === 1)
    runtime.answer(messageId, 'at last')
    await clock.advance(0)
    expect((await ask('GET', path)).json).toMatchObject({
      state: 'responded',
      response: 'at last',
      attempt: 1,
    })
  })

  it('refuses a message that did not fail, a full session and a stopped agent', async () => {
    const scene = await openRunning({ maxQueued: 0 })
    const { ask, agent, clock, path } = scene
    const retry = async () => {
      const refused = await ask('POST', `${path}/retry`)
      return [refused.status, refused.json.error.code]
    }
    expect(await retry()).toEqual([409, 'CONFLICT'])
    await ask('POST', `${path}/cancel`)
    const next = await send(scene, agent.id)
    expect(await retry()).toEqual([429, 'TOO_MANY_REQUESTS'])
    await ask('POST', `${next}/cancel`)
    const stopping = ask('POST', `/v1/agents/${agent.id}/stop`)
    await clock.advance(2_000)
    await stopping
    expect(await retry()).toEqual([409, 'AGENT_NOT_RUNNING'])
  })
})

describe.each(['cancel', 'retry'])('%s', (change) => {
  it('answers 404 for a missing agent or message, and in another project', async () => {
    const { ask, agent, path, otherKey } = await openRunning()
    for (const [at, key] of [
      [path, otherKey],
      [`/v1/agents/${agent.id}/messages/${UNKNOWN_ID}`, undefined],
      [`/v1/agents/nobody/messages/${UNKNOWN_ID}`, undefined],
    ] as const) {
      const refused = await ask('POST', `${at}/${change}`, key === undefined ? {} : { key })
      expect([refused.status, refused.json.error.code]).toEqual([404, 'NOT_FOUND'])
    }
  })

  it('requires the permission project:message', async () => {
    const { ask, path, keyWith } = await openRunning()
    const { key } = await keyWith(['project:agents', 'project:webhooks', 'project:admin'])
    expect((await ask('POST', `${path}/${change}`, { key })).status).toBe(403)
    expect((await ask('POST', `${path}/${change}`, { key: '' })).status).toBe(401)
  })
})

describe('GET …/messages/:messageId/runs', () => {
  it('lists the runs with the reasons of their ends and their errors', async () => {
    const { ask, clock, path, messageId, runtime } = await openRunning()
    const at = () => new Date(clock.now()).toISOString()
    const runs = async () => (await ask('GET', `${path}/runs`)).json.runs
    const startedAt = at()
    expect(await runs()).toEqual([{ attempt: 1, startedAt }])
    runtime.fail(messageId, 'busy', { retryable: true })
    await clock.advance(0)
    const failed = {
      attempt: 1,
      startedAt,
      endedAt: at(),
      reason: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'busy' },
    }
    await clock.until(() => runtime.openRuns.length === 1)
    const again = { attempt: 2, startedAt: at() }
    expect(await runs()).toEqual([failed, again])
    runtime.answer(messageId, 'done')
    await clock.advance(0)
    expect(await runs()).toEqual([failed, { ...again, endedAt: at(), reason: 'answered' }])
  })

  it('answers 404 without the message or the agent, and 401 without a key', async () => {
    const { ask, app, agent, path } = await openRunning()
    for (const other of [
      `/v1/agents/${agent.id}/messages/${UNKNOWN_ID}/runs`,
      `/v1/agents/nobody/messages/${UNKNOWN_ID}/runs`,
    ])
      expect((await ask('GET', other)).status).toBe(404)
    expect((await app.request(`${path}/runs`)).status).toBe(401)
  })
})
