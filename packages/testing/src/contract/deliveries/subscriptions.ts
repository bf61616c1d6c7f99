import { expect } from 'vitest'
import type { Webhook } from '@org/agent-messaging-core'
import type { WebhookFilter } from '@org/agent-messaging-core/host'
import { anEvent } from '../../builders.js'
import { LEASE_MS, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

/** The webhooks that have a delivery, in the order of `webhooks`, by their URL. */
async function receiversAmong(
  { deliveries }: UnwrappedStorage,
  webhooks: readonly Webhook[],
): Promise<string[]> {
  const projectIds = [...new Set(webhooks.map(({ projectId }) => projectId))]
  const pages = await Promise.all(
    projectIds.map((projectId) => deliveries.list({ projectId }, { limit: 100 })),
  )
  const reached = pages.flatMap(({ data }) => data.map(({ webhookId }) => webhookId))
  return webhooks.filter(({ id }) => reached.includes(id)).map(({ url }) => url)
}

export function subscriptionsSuite(it: StorageTest): void {
  it('a webhook gets the events that it names, or all', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhooks = [
      await scene.webhook({ url: 'https://all.example', events: ['*'] }),
      await scene.webhook({ url: 'https://this.example', events: ['agent.error'] }),
      await scene.webhook({
        url: 'https://among.example',
        events: ['message.responded', 'agent.error'],
      }),
      await scene.webhook({ url: 'https://both.example', events: ['*', 'agent.error'] }),
      await scene.webhook({
        url: 'https://other.example',
        events: ['message.responded', 'agent.started'],
      }),
    ]
    await scene.publish(agent, { name: 'agent.error' })
    expect(await receiversAmong(storage, webhooks)).toEqual(
      ['all', 'this', 'among', 'both'].map((name) => `https://${name}.example`),
    )
    expect(
      (await storage.deliveries.list({ projectId: agent.projectId }, { limit: 100 })).data,
    ).toHaveLength(4)
  })

  it('a webhook of one agent gets the events of that agent', async ({ storage, scene }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    const webhooks = [
      await scene.webhook({ url: 'https://mine.example', filter: { agentId: agent.id } }),
      await scene.webhook({ url: 'https://others.example', filter: { agentId: other.id } }),
      await scene.webhook({ url: 'https://everyone.example' }),
    ]
    await scene.publish(agent)
    expect(await receiversAmong(storage, webhooks)).toEqual([
      'https://mine.example',
      'https://everyone.example',
    ])
  })

  it('a webhook gets the events that match its filter', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const filters: Record<string, WebhookFilter> = {
      'https://session.example': { sessionIdPrefix: 'chat/' },
      'https://mail.example': { sessionIdPrefix: 'mail/' },
      'https://gold.example': { metadata: [{ path: 'customer.plan', equals: 'gold' }] },
      'https://silver.example': { metadata: [{ path: 'customer.plan', equals: 'silver' }] },
      'https://absent.example': { metadata: [{ path: 'test', exists: false }] },
    }
    const webhooks = []
    for (const [url, filter] of Object.entries(filters))
      webhooks.push(await scene.webhook({ url, filter }))
    await scene.publish(agent)
    expect(await receiversAmong(storage, webhooks)).toEqual([])
    const ofMessage = anEvent(agent, {
      sessionId: 'chat/1',
      metadata: { customer: { plan: 'gold' } },
    })
    const recorded = await scene.answer(await scene.run(agent), NOW, scene.outgoing(ofMessage))
    expect(recorded).toMatchObject({ kind: 'recorded' })
    expect(await receiversAmong(storage, webhooks)).toEqual(
      ['session', 'gold', 'absent'].map((name) => `https://${name}.example`),
    )
  })

  it('a webhook gets the events whose data its filter matches', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const filters: Record<string, WebhookFilter> = {
      'https://equal.example': { data: [{ path: 'runtime', equals: 'fake' }] },
      'https://prefix.example': { data: [{ path: 'startedAt', prefix: '2030-' }] },
      'https://range.example': { data: [{ path: 'amount', min: 1 }] },
      'https://absent.example': { data: [{ path: 'amount', exists: false }] },
    }
    const webhooks = []
    for (const [url, filter] of Object.entries(filters))
      webhooks.push(await scene.webhook({ url, filter }))
    expect(await storage.webhooks.get(agent.projectId, webhooks[1]?.id ?? '')).toEqual(webhooks[1])
    await scene.publish(agent)
    const named = (...names: string[]) => names.map((name) => `https://${name}.example`)
    expect(await receiversAmong(storage, webhooks)).toEqual(named('equal', 'prefix', 'absent'))
    const event = anEvent(agent, { data: { amount: 1 } })
    await scene.answer(await scene.run(agent), NOW, scene.outgoing(event))
    expect(await receiversAmong(storage, webhooks)).toEqual(
      named('equal', 'prefix', 'range', 'absent'),
    )
    const { data } = await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })
    expect(data).toHaveLength(4)
  })

  it('a changed filter applies to the next event', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook({ filter: { sessionIdPrefix: 'chat/' } })
    const publish = () => scene.publish(agent, { sessionId: 'mail/1', metadata: {} })
    const reached = async () => (await receiversAmong(storage, [webhook])).length
    const change = (filter: WebhookFilter | null) =>
      storage.webhooks.update(agent.projectId, webhook.id, { filter, updatedAt: NOW })
    await publish()
    expect(await reached()).toBe(0)
    await change({ sessionIdPrefix: 'mail/' })
    await publish()
    expect(await reached()).toBe(1)
    await change({ metadata: [{ path: 'x', exists: true }] })
    await publish()
    await change(null)
    await publish()
    const { data } = await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })
    expect(data).toHaveLength(2)
  })

  it('G6: a webhook of another project gets nothing', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhooks = [
      await scene.webhook({ url: 'https://here.example' }),
      await scene.webhook({ url: 'https://there.example', projectId: OTHER_PROJECT_ID }),
      await scene.webhook({
        url: 'https://prying.example',
        projectId: OTHER_PROJECT_ID,
        filter: { agentId: agent.id },
      }),
    ]
    await scene.publish(agent)
    expect(await receiversAmong(storage, webhooks)).toEqual(['https://here.example'])
  })

  it('a disabled webhook gets its deliveries too, for later', async ({ storage, scene }) => {
    const webhook = await scene.webhook({
      status: { kind: 'disabled', reason: 'operator', at: NOW },
    })
    await scene.publish(await scene.agent())
    expect(await receiversAmong(storage, [webhook])).toEqual([webhook.url])
  })

  it('the subscriptions at the commit of the event count', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const changed = await scene.webhook({ url: 'https://changed.example', events: ['agent.error'] })
    const deleted = await scene.webhook({ url: 'https://deleted.example' })
    await storage.webhooks.update(agent.projectId, changed.id, {
      events: ['agent.started'],
      updatedAt: NOW,
    })
    await storage.webhooks.delete(agent.projectId, deleted.id)
    await scene.publish(agent, { name: 'agent.started' })
    const late = await scene.webhook({ url: 'https://late.example' })
    expect(await receiversAmong(storage, [changed, deleted, late])).toEqual([
      'https://changed.example',
    ])
  })

  it('an event without a subscriber is no error', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook({ events: ['message.responded'] })
    const recorded = await scene.answer(
      await scene.run(agent),
      NOW,
      scene.outgoing(anEvent(agent, { name: 'agent.error' })),
    )
    expect(recorded).toMatchObject({ kind: 'recorded', deliveries: [] })
    expect(
      (await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data,
    ).toEqual([])
  })

  it('each run tells the webhooks as they are at its end', async ({ storage, second, scene }) => {
    const agent = await scene.agent()
    const tell = async (sessionId: string) => {
      const run = await scene.run(agent, { sessionId })
      const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
      const recorded = await scene.answer(run, NOW, scene.outgoing(anEvent(agent), claim))
      if (recorded.kind !== 'recorded') throw new Error(recorded.kind)
      return recorded.deliveries.map(({ webhook }) => webhook.url).sort()
    }
    expect(await tell('none')).toEqual([])
    const first = await scene.webhook({ url: 'https://first.example', events: ['*'] })
    expect(await tell('one')).toEqual(['https://first.example'])
    const other = await scene.webhook({ url: 'https://other.example', events: ['*'] })
    expect(await tell('two')).toEqual(['https://first.example', 'https://other.example'])
    const moved = { url: 'https://moved.example', updatedAt: NOW + 1 }
    await second.webhooks.update(first.projectId, first.id, moved)
    expect(await tell('moved')).toEqual(['https://moved.example', 'https://other.example'])
    await second.webhooks.update(other.projectId, other.id, {
      events: ['agent.error'],
      updatedAt: NOW + 1,
    })
    expect(await tell('unsubscribed')).toEqual(['https://moved.example'])
    await second.webhooks.delete(first.projectId, first.id)
    expect(await tell('deleted')).toEqual([])
    const { data } = await storage.deliveries.list({ projectId: agent.projectId }, { limit: 100 })
    expect(data).toHaveLength(6)
  })
}
