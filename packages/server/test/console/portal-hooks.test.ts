import { setImmediate } from 'node:timers/promises'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import type { Storage } from '@org/agent-messaging-core/storage'
import { fakeSender, memoryStorage } from '@org/agent-messaging-testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { pageRoutes } from '../../../console/src/console.js'
import type { ConsoleDeps } from '../../../console/src/context.js'
import { cookieOf, ORIGIN, scene } from '../../../console/test/scene.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const STORES: Readonly<Record<string, () => Storage | Promise<Storage>>> = {
  memory: () => memoryStorage(),
  sqlite: () => openSqliteStorage({ path: ':memory:' }),
  postgres: async () => {
    const pool = await postgres.pool()
    onTestFinished(() => pool.end())
    return openPostgresStorage({ pool })
  },
}

const NOTHING = { service: {}, catcher: {} } as unknown as ConsoleDeps
const ROUTES = [
  ...new Set(pageRoutes(NOTHING).routes.map(({ method, path }) => `${method} ${path}`)),
]
const WORDS = 'the words of the receiver of one send'
const OWN_URL = 'https://own.example/in'
const HOOK_URL = 'https://one-send.example/hook'

/**
 * A failed message with two deliveries, which were refused: of the project's webhook, and of the
 * webhook that its send brought.
 */
async function hookScene(store: string) {
  const sender = fakeSender({
    outcome: ({ url }) => ({
      kind: 'refused',
      statusCode: 500,
      responseBody: url === HOOK_URL ? WORDS : 'own',
    }),
  })
  const storage = await STORES[store]?.()
  if (!storage) throw new Error(store)
  const s = await scene({ parts: { sender, storage } })
  onTestFinished(() => s.service.stop())
  const { projectId, service, clock } = s
  const events = ['message.responded']
  await service.webhooks.create({ projectId, url: OWN_URL, events, retrySchedule: [3_600_000] })
  const { message } = await service.messages.send({
    projectId,
    agent: 'bot',
    sessionId: 'first',
    message: 'hi',
    webhook: { url: HOOK_URL, secret: `whsec_${btoa('a secret of one send, 32 bytes')}`, events },
  })
  const all = async () => (await service.deliveries.list({ projectId })).data
  await clock.until(async () => {
    await setImmediate()
    return (await all()).every(({ attemptCount }) => attemptCount > 0)
  })
  const deliveries = await all()
  const { data: own } = await service.deliveries.list({ projectId, withoutHooks: true })
  const hook = deliveries.find(({ id }) => id !== own[0]?.id)
  if (!hook || !own[0]) throw new Error('no deliveries')
  const permissions = ['project:webhooks', 'project:message'] as const
  const { code } = await service.portals.create({ projectId, permissions })
  const cookie = cookieOf(await s.get(`/console/portal?code=${code}`))
  return { ...s, sender, message, hook, own: own[0], all, cookie }
}

describe.each(Object.keys(STORES))('a customer in the portal, on %s', (store) => {
  it('sees no delivery of the webhook of a send, and changes none', async () => {
    const s = await hookScene(store)
    const { projectId, service, hook, own, message, cookie } = s
    const { id: recoveryId } = await service.recoveries.start({
      projectId,
      filter: { status: 'failed' },
    })
    const { redelivered } = await s.clock
      .until(async () => {
        await setImmediate()
        const { state } = await service.recoveries.get({ projectId, recoveryId })
        return state.kind !== 'running'
      })
      .then(() => service.recoveries.get({ projectId, recoveryId }))
    expect(redelivered).toBe(1)
    const requests = () => s.sender.requests.filter(({ url }) => url === HOOK_URL).length
    const before = { requests: requests(), deliveries: await s.all() }
    const SECRET = [hook.id, hook.webhookId, HOOK_URL, new URL(HOOK_URL).host, WORDS]
    const ids = [hook.id, hook.webhookId, hook.eventId, message.id, recoveryId, own.id]
    const queries = [
      '',
      '?status=pending',
      '?answer=failed',
      `?message=${message.id}`,
      `?webhook=${hook.webhookId}`,
      `?q=${hook.id}`,
      `?q=${hook.id.slice(-8)}`,
      `?q=${hook.webhookId}`,
      '?format=csv',
    ]
    const seen: string[] = []
    const visit = async (method: string, path: string) => {
      const answer =
        method === 'POST'
          ? await s.post(path, {}, { origin: ORIGIN, cookie })
          : await s.get(path, cookie)
      const isStream = answer.headers.get('content-type')?.includes('event-stream')
      if (isStream) return void answer.body?.cancel()
      const text = await answer.text()
      const told = SECRET.filter((secret) => text.includes(secret) && !path.includes(secret))
      if (told.length > 0) seen.push(`${method} ${path}: ${told.join()}`)
      const isOpen = answer.status === 200 && path.includes(`/${hook.id}`)
      const leads = answer.headers.get('location')?.includes(`/${hook.id}`)
      if (isOpen || leads) seen.push(`${method} ${path}`)
    }
    for (const route of ROUTES) {
      const [method = '', pattern = ''] = route.split(' ')
      const of = pattern.replace(/:agent\b/, 'bot').replace('*', 'page')
      const actions = /:action\{([^}]*)\}/.exec(of)?.[1]?.split('|') ?? ['']
      for (const action of actions)
        for (const id of of.includes(':') ? ids : [''])
          for (const query of id === '' ? queries : ['', '?session=first'])
            await visit(
              method,
              of.replace(/:action\{[^}]*\}/, action).replaceAll(/:\w+/g, id) + query,
            )
    }
    expect(seen).toEqual([])
    const kept = (await s.all()).find(({ id }) => id === hook.id)
    expect(kept).toEqual(before.deliveries.find(({ id }) => id === hook.id))
    expect(requests()).toBe(before.requests)
    expect(s.thrown).toEqual([])
  })

  it('sees only its own delivery where a page shows one', async () => {
    const s = await hookScene(store)
    const { hook, own, message, cookie, projectId, service } = s
    const read = async (path: string) => (await s.get(`/console/${path}`, cookie)).text()
    for (const path of ['deliveries', `deliveries?message=${message.id}`, `events/${own.eventId}`])
      expect(await read(path), path).toContain(own.id)
    expect(await read(`messages/${message.id}`)).toContain('0 of 1 receivers')
    expect(await read('recover?status=failed')).toContain('1 delivery matches')
    expect((await s.get(`/console/deliveries/${own.id}`, cookie)).status).toBe(200)
    for (const action of ['redeliver', 'cancel', 'skip'])
      expect(
        (await s.post(`/console/deliveries/${hook.id}/${action}`, {}, { origin: ORIGIN, cookie }))
          .status,
      ).toBe(404)
    // A key of the project sees both, and can send the delivery of a hook again.
    const key = await s.signIn()
    expect(await (await s.get('/console/deliveries', key)).text()).toContain(hook.id)
    const again = await service.deliveries.redeliver({ projectId, deliveryId: hook.id })
    expect(again.id).toBe(hook.id)
  })

  it('sees no delivery in the list of events if only a hook has one', async () => {
    const s = await hookScene(store)
    const { projectId, service, own, cookie } = s
    const stored = async () =>
      (await (await s.get('/console/events', cookie)).text()).split('delivery stored').length - 1
    expect(await stored()).toBe(1)
    await service.webhooks.delete({ projectId, webhookId: own.webhookId })
    const sent = { projectId, agent: 'bot', sessionId: 'second', message: 'hi' }
    const events = ['message.responded']
    await service.messages.send({
      ...sent,
      webhook: { url: HOOK_URL, secret: `whsec_${btoa('a secret of one send, 32 bytes')}`, events },
    })
    const { data } = await service.events.list({ projectId, types: events, limit: 1 })
    expect(data[0]?.hasDeliveries).toBe(true)
    const shown = { projectId, types: events, limit: 1, withoutHooks: true }
    expect((await service.events.list(shown)).data[0]?.hasDeliveries).toBe(false)
    expect(await stored()).toBe(1)
  })
})
