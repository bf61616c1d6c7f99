import { accepted, refused, unreachable } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { ORIGIN, scene } from '../../test/scene.js'

const OUTCOMES = [accepted(), refused(404), refused(500), unreachable()]
const LINK = /<th scope="row"><span class="id"><a href="([^"]+)"/g

it('the list of failed deliveries has every answer but an accepted one, over pages', async () => {
  const { get, signIn, service, projectId, sender, clock } = await scene()
  const cookie = await signIn()
  // Each webhook has one delivery, so that no failing webhook delays another delivery.
  for (let i = 0; i < 40; i++) {
    const url = `https://crm.example/${i}`
    const created = await service.webhooks.create({ projectId, url, events: ['*'] })
    const webhookId = created.webhook.id
    sender.script(OUTCOMES[i % OUTCOMES.length] ?? accepted())
    await service.webhooks.sendTestEvent({ projectId, webhookId })
    await expect.poll(() => sender.requests).toHaveLength(i + 1)
    await clock.advance(0)
  }
  const seen: string[] = []
  let path: string | undefined = '/console/deliveries?answer=failed'
  while (path !== undefined) {
    const page: string = await (await get(path, cookie)).text()
    seen.push(...[...page.matchAll(LINK)].map(([, href = '']) => href))
    expect(page).toContain('<option value="failed" selected="">')
    expect(page).not.toContain('Recover matches')
    path = /href="([^"]+)" rel="next"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
  }
  expect(seen).toHaveLength(30)
  expect(seen).toEqual([...new Set(seen)].toSorted().toReversed())
})

it('the notice of a requested attempt names a webhook that is backing off', async () => {
  const { get, post, signIn, service, projectId, sender, clock } = await scene()
  const url = 'https://crm.example/'
  const { id } = (await service.webhooks.create({ projectId, url, events: ['*'] })).webhook
  const ref = { projectId, webhookId: id }
  const deliveryId = (await service.webhooks.sendTestEvent(ref)).id
  await expect.poll(() => sender.requests).toHaveLength(1)
  await clock.advance(0)
  const cookie = await signIn()
  const headers = { origin: ORIGIN, cookie }
  const noticeOf = async () => {
    const asked = await post(`/console/deliveries/${deliveryId}/redeliver`, {}, headers)
    return (await get(asked.headers.get('location') ?? '', cookie)).text()
  }
  expect(await noticeOf()).toContain('An attempt was requested. This page shows its result.')
  sender.script(...Array.from({ length: 40 }, () => refused(500)))
  for (let i = 0; i < 20; i++) {
    await service.webhooks.sendTestEvent(ref)
    await clock.advance(30_000)
  }
  expect((await service.webhooks.get(ref)).health.circuit.kind).toBe('open')
  expect(await noticeOf()).toContain(
    'The webhook is backing off, so its oldest delivery goes first.',
  )
  const recovery = await service.recoveries.start({
    projectId,
    filter: { webhookId: id, status: 'failed' },
    tryFirst: true,
  })
  const page = await (await get(`/console/recoveries/${recovery.id}`, cookie)).text()
  expect(page).toContain(`<a href="/console/webhooks/${id}">Send a test event</a> to ask`)
})
