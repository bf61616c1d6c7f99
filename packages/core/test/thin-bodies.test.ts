import { expect, it } from 'vitest'
import { createService } from '@org/agent-messaging-core'
import { fakePlatform, refused } from '@org/agent-messaging-testing'

const retry = { delaysMs: [60_000], jitter: 0, maxRetryAfterMs: 86_400_000 }

/** A service whose address can change, with a function that creates thin webhooks. */
async function thinScene(address?: { url: string }) {
  const platform = fakePlatform({ handler: () => ({ kind: 'answered', response: 'an answer' }) })
  const publicUrl = () => address?.url
  const service = createService({ ...platform, policy: { retry }, publicUrl })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  const runtime = { kind: 'fake' }
  await service.agents.create({ projectId, name: 'bot', runtime, desiredState: 'running' })
  const hook = async (url: string, event: string) => {
    const given = { projectId, url, events: [event], payload: 'thin' } as const
    return { projectId, webhookId: (await service.webhooks.create(given)).webhook.id }
  }
  const send = () =>
    service.messages.send({ projectId, agent: 'bot', sessionId: 's', message: 'x' })
  return { ...platform, service, projectId, hook, send }
}

it('G4: each attempt of a thin delivery sends the bytes of its commit', async () => {
  const address = { url: 'https://before.example/' }
  const { service, sender, clock, projectId, hook, send } = await thinScene(address)
  const webhook = await hook('https://receiver.example/', 'message.responded')
  sender.script(refused(500))
  await send()
  await clock.advance(0)
  address.url = 'https://after.example'
  await service.webhooks.update({ ...webhook, change: { payload: 'full' } })
  await clock.advance(60_000)
  const [delivery] = (await service.deliveries.list({ projectId, limit: 10 })).data
  const { id: deliveryId = '', eventId } = delivery ?? {}
  await service.deliveries.redeliver({ projectId, deliveryId })
  await clock.advance(0)
  const [body = '', ...later] = sender.requests.map((request) => request.body)
  const { data, ...event } = JSON.parse(body) as { readonly data: object }
  expect(event).toEqual({
    event: 'message.responded',
    id: eventId,
    createdAt: expect.any(String) as string,
  })
  expect(Object.keys(data)).toEqual(['messageId', 'agentId', 'sessionId', 'url'])
  expect(data).toMatchObject({ url: `https://before.example/v1/events/${eventId}` })
  expect(later).toEqual([body, body])
  expect((await service.deliveries.get({ projectId, deliveryId })).body).toBe(body)
})

it('reports and test events are thin too', async () => {
  const { service, sender, clock, hook, send } = await thinScene()
  await hook('https://broken.example/', 'message.responded')
  const webhook = await hook('https://reports.example/', 'delivery.exhausted')
  sender.script(refused(500), refused(500))
  await send()
  await clock.advance(60_000)
  await clock.advance(60_000)
  await service.webhooks.sendTestEvent({ ...webhook, event: 'message.failed' })
  await clock.advance(0)
  const sent = sender.requests
    .filter(({ url }) => url === 'https://reports.example/')
    .map(({ body }) => JSON.parse(body) as { readonly id: string; readonly data: object })
  expect(sent.map(({ data }) => Object.keys(data))).toEqual([
    ['webhookId', 'deliveryId', 'eventId', 'url'],
    ['messageId', 'agentId', 'sessionId', 'url'],
  ])
  expect(sent.map(({ data }) => data)).toMatchObject(
    sent.map(({ id }) => ({ url: `/v1/events/${id}` })),
  )
})
