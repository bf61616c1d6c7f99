import type { DemoBrowser } from './demo-browser.js'

/** The addresses of all screens of the console. */
export async function screensOf({ at, demo }: DemoBrowser): Promise<string[]> {
  const { projectId, service, webhooks } = demo
  const webhook = (n: number): string => webhooks[n]?.id ?? ''
  async function messageOf(sessionId: string): Promise<string> {
    const found = await service.messages.search({ projectId, sessionId, limit: 1 })
    return found.data[0]?.message.id ?? ''
  }
  async function refusedDelivery(): Promise<string> {
    const filter = { projectId, webhookId: webhook(2), lastAnswer: '5xx' } as const
    const found = await service.deliveries.list({ ...filter, limit: 1 })
    return found.data[0]?.id ?? ''
  }
  async function anyEvent(): Promise<string> {
    const found = await service.events.list({ projectId, types: ['message.failed'], limit: 1 })
    return found.data[0]?.id ?? ''
  }
  async function anyKey(): Promise<string> {
    const found = await service.keys.list({ projectId, limit: 1 })
    return found.data[0]?.id ?? ''
  }
  const screens = [
    '',
    '?range=24h',
    '/failures',
    '/agents/support/retry',
    '/conversations?state=failed&agent=support',
    '/agents',
    '/agents/support',
    '/agents/triage?range=7d',
    '/conversations/sessions?agent=support',
    '/sessions/support?session=order-4711',
    '/sessions/support?session=order-4712',
    '/sessions/support?session=order-4715',
    '/sessions/support?session=order-4715&view=raw',
    '/agents/triage/delete',
    `/webhooks/${webhook(1)}/delete`,
    '/sessions/support/erase?session=order-4711',
    `/webhooks/${webhook(1)}/edit`,
    '/conversations',
    '/people?id=customer-1837',
    '/people/erase?id=customer-1837',
    '/conversations?state=failed',
    `/messages/${await messageOf('order-4712')}`,
    `/messages/${await messageOf('order-4711')}`,
    '/questions',
    '/questions/answered',
    `/questions/${await messageOf('order-4716')}`,
    `/questions/${await messageOf('order-4716')}/withdraw`,
    '/sessions/support?session=order-4716',
    '/search?q=order',
    '/search?q=customer-1837',
    '/search?q=nothing+like+it',
    '/webhooks',
    '/webhooks/events',
    '/webhooks/events/message.responded',
    `/webhooks/${webhook(0)}`,
    `/webhooks/${webhook(3)}`,
    '/events',
    '/events?type=message.*&published=yes',
    `/events/${await anyEvent()}`,
    '/deliveries',
    `/deliveries?answer=5xx&webhook=${webhook(1)}`,
    `/webhooks/${webhook(1)}/rotate`,
    `/webhooks/${webhook(1)}/disable`,
    '/recover',
    `/recover?webhook=${webhook(0)}&status=delivered&answer=2xx`,
    `/deliveries/${await refusedDelivery()}`,
    '/deliveries?event=webhook.disabled',
    '/deliveries?held=yes',
    '/deliveries?answer=failed',
    '/conversations/sessions',
    '/project',
    '/keys',
    `/keys/${await anyKey()}/revoke`,
    '/webhooks?show=held',
    '/agents?state=error',
    '/audit-log',
    '/usage',
    '/usage?by=agent',
    '/catcher',
    '/sign-in',
  ]
  return screens.map(at)
}
