import { refused } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { aMessage, CRON_SECRET, openScene, type Scene } from '../../test/scene.js'

const read = async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' })

describe('/metrics', () => {
  it('does not exist without the host’s metrics', async () => {
    const { ask } = await openScene()
    expect(await ask('GET', '/metrics')).toMatchObject({
      status: 404,
      json: { error: { code: 'NOT_FOUND' } },
    })
  })

  it('serves the host’s text, to every caller if there is no token', async () => {
    const { ask } = await openScene({ http: { metrics: { read } } })
    const answer = await ask('GET', '/metrics', { key: '' })
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      200,
      'up 1\n',
      'text/plain; version=0.0.4',
    ])
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('accepts only its token, and no API key', async () => {
    const { ask, key } = await openScene({ http: { metrics: { read, token: 'a-token' } } })
    expect((await ask('GET', '/metrics', { key: 'a-token' })).status).toBe(200)
    for (const wrong of ['', 'a-toke', 'a-token-', key]) {
      const refusal = await ask('GET', '/metrics', { key: wrong })
      expect([refusal.status, refusal.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(refusal.text).not.toContain('a-token')
    }
  })

  it('refuses every request if the token is empty, as from an unset variable', async () => {
    const { ask } = await openScene({ http: { metrics: { read, token: '' } } })
    for (const key of ['', 'x']) expect((await ask('GET', '/metrics', { key })).status).toBe(401)
    expect(
      (await ask('GET', '/metrics', { key: '', headers: { Authorization: 'Bearer ' } })).status,
    ).toBe(401)
  })

  it('accepts only GET and HEAD', async () => {
    const { ask } = await openScene({ http: { metrics: { read } } })
    const answer = await ask('POST', '/metrics')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

const PATH = '/api/cron/webhooks'
/** The counts of a pass that ran a message and delivered its answer. */
const BOTH = { messages: 1, deliveries: 1, cancelled: 0, purgedDeliveries: 0, purgedMessages: 0 }
const run = ({ ask }: Scene, key = CRON_SECRET, method = 'POST') => ask(method, PATH, { key })

/** A service that works only in passes, with a queued message and a webhook for its answer. */
async function openQuietScene(): Promise<Scene> {
  const scene = await openScene({ isStarted: false })
  await scene.ask('POST', '/v1/webhooks', {
    body: { url: 'https://receiver.example/', events: ['message.responded'] },
  })
  const agent = await scene.createAgent()
  await run(scene) // starts the agent
  const sent = await scene.ask('POST', `/v1/agents/${agent.id}/messages`, {
    body: aMessage(),
    headers: { Prefer: 'respond-async' },
  })
  if (sent.status !== 202) throw new Error(`not accepted: ${sent.text}`)
  return scene
}

describe('C: /api/cron/webhooks', () => {
  it.each(['GET', 'POST'])('%s runs one pass and answers with its counts', async (method) => {
    const scene = await openQuietScene()
    const answer = await run(scene, CRON_SECRET, method)
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual(BOTH)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(scene.sender.requests).toHaveLength(1)
    expect((await run(scene, CRON_SECRET, method)).json).toEqual({
      ...BOTH,
      messages: 0,
      deliveries: 0,
    })
  })

  it('retries a failed delivery once it is due', async () => {
    const scene = await openQuietScene()
    scene.sender.script(refused(500))
    await run(scene)
    expect((await run(scene)).json.deliveries).toBe(0)
    await scene.clock.advance(10_000)
    expect((await run(scene)).json.deliveries).toBe(1)
    expect(scene.sender.requests).toHaveLength(2)
  })

  it('20 parallel calls do all work once', async () => {
    const scene = await openQuietScene()
    const answers = await Promise.all(Array.from({ length: 20 }, () => run(scene)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    const total = (count: string) => answers.reduce((sum, { json }) => sum + json[count], 0)
    expect([total('messages'), total('deliveries'), scene.sender.requests.length]).toEqual([
      1, 1, 1,
    ])
  })

  it('a pass ends after its budget, even if a receiver hangs', async () => {
    const scene = await openQuietScene()
    scene.sender.hold()
    const passing = run(scene)
    await scene.clock.until(() => scene.sender.held === 1)
    await scene.clock.advance(10_000)
    expect((await passing).json).toEqual(BOTH)
    expect(scene.sender.held).toBe(1)
  })

  it.each(['', 'wrong', CRON_SECRET.slice(0, -1), `${CRON_SECRET}x`, CRON_SECRET.toUpperCase()])(
    'refuses the secret %j',
    async (secret) => {
      const refusal = await run(await openScene(), secret)
      expect(refusal.status).toBe(401)
      expect(refusal.headers.get('www-authenticate')).toBe('Bearer')
      expect(refusal.headers.get('cache-control')).toBe('no-store')
      expect(refusal.text).not.toContain(CRON_SECRET)
    },
  )

  it('refuses an API key with all permissions', async () => {
    const scene = await openScene()
    expect((await run(scene, scene.key)).status).toBe(401)
  })

  it.each([undefined, ''])(
    'refuses every request if the configured secret is %j',
    async (cronSecret) => {
      const scene = await openScene({ http: { cronSecret } })
      const wrong = await run(await openScene(), 'wrong')
      for (const secret of ['', 'wrong', 'undefined', CRON_SECRET]) {
        const answer = await run(scene, secret)
        expect([answer.status, answer.json.error]).toEqual([wrong.status, wrong.json.error])
      }
    },
  )

  it('HEAD and other methods get a 405 and run nothing', async () => {
    const scene = await openQuietScene()
    for (const method of ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await run(scene, CRON_SECRET, method)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST'])
    }
    expect((await run(scene)).json).toEqual(BOTH)
  })

  it('a wrong secret runs nothing', async () => {
    const scene = await openQuietScene()
    await run(scene, 'wrong')
    expect((await run(scene)).json).toEqual(BOTH)
  })
})
