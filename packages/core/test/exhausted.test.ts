import { describe, expect, it } from 'vitest'
import type { SubscribableEvent } from '@org/agent-messaging-core'
import { refused } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const retry = { delaysMs: [], jitter: 0, maxRetryAfterMs: 0 }

/** One failure exhausts a delivery. Receivers on `fails.example` answer 500. */
async function strictScene() {
  const fakes = await scene({ ...echo, policy: { retry } })
  const { sender, service, project } = fakes
  const { send } = sender
  Object.assign(sender, {
    send: async (request: Parameters<typeof send>[0]) => {
      const usual = await send(request)
      return request.url.includes('fails.example') ? refused(500) : usual
    },
  })
  const webhook = async (url: string, events: readonly (SubscribableEvent | '*')[] = ['*']) =>
    (await service.webhooks.create({ projectId: project.id, url, events })).webhook
  const eventsAt = (url: string) =>
    sender.requests.flatMap((request) => (request.url === url ? [JSON.parse(request.body)] : []))
  return { ...fakes, webhook, eventsAt }
}

describe('an exhausted delivery', () => {
  it('is reported to the other webhooks, with the last outcome and without the URL', async () => {
    const { send, clock, webhook, eventsAt, deliveries } = await strictScene()
    const failing = await webhook('https://fails.example/a', ['message.responded'])
    await webhook('https://watch.example', ['delivery.exhausted'])
    await send()
    await clock.advance(0)
    const [exhausted] = (await deliveries()).map(({ delivery }) => delivery)
    const [event] = eventsAt('https://watch.example')
    expect(event).toMatchObject({
      event: 'delivery.exhausted',
      data: {
        deliveryId: exhausted?.id,
        webhookId: failing.id,
        eventId: exhausted?.eventId,
        event: 'message.responded',
        attemptCount: 1,
        lastAttempt: { outcome: 'refused', statusCode: 500 },
      },
    })
    expect(JSON.stringify(event)).not.toContain('fails.example')
  })

  it('of a report makes no event, so that failing webhooks do not report each other', async () => {
    const { send, clock, webhook, deliveries } = await strictScene()
    await webhook('https://fails.example/a')
    await webhook('https://fails.example/b')
    await webhook('https://fails.example/c', ['delivery.exhausted'])
    await send()
    await clock.advance(60_000)
    const all = (await deliveries()).map(({ delivery }) => delivery)
    const reports = all.filter(({ event }) => event === 'delivery.exhausted')
    // Two deliveries of the answer are exhausted. Each is reported to the two other webhooks.
    expect(
      all.map(({ event }) => event).filter((event) => event === 'message.responded'),
    ).toHaveLength(2)
    expect(reports).toHaveLength(4)
    expect(reports.map(({ state }) => state.kind)).toEqual(
      Array.from({ length: 4 }, () => 'exhausted'),
    )
  })

  it('by a webhook that is gone reports both, and a failed report disables in silence', async () => {
    const { send, clock, service, project, eventsAt, sender, webhook } = await strictScene()
    const { send: request } = sender
    Object.assign(sender, {
      send: async (one: Parameters<typeof request>[0]) => {
        const usual = await request(one)
        return one.url.includes('gone.example') ? refused(410) : usual
      },
    })
    const gone = (path: string, events: SubscribableEvent[]) =>
      service.webhooks.create({
        projectId: project.id,
        url: `https://gone.example/${path}`,
        events,
        disableOnGone: true,
      })
    await gone('first', ['message.responded'])
    await gone('second', ['webhook.disabled'])
    await webhook('https://watch.example', ['webhook.disabled', 'delivery.exhausted'])
    await send()
    await clock.advance(60_000)
    const { data } = await service.webhooks.list({ projectId: project.id, limit: 10 })
    expect(data.map(({ status }) => status.kind)).toEqual(['enabled', 'disabled', 'disabled'])
    const names = eventsAt('https://watch.example').map(({ event }) => event as string)
    expect(names.toSorted()).toEqual(['delivery.exhausted', 'webhook.disabled'])
  })
})
