import { expect } from 'vitest'
import { ownBody } from '@org/agent-messaging-core/storage'
import { anEvent } from '../../builders.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const THIN = { payload: 'thin' } as const
const claim = { until: NOW + LEASE_MS, except: new Set<string>() }

const claimedBodies = async (deliveries: UnwrappedStorage['deliveries'], now: number) =>
  new Map(
    (await deliveries.claim({ ...CLAIM_ALL, now, until: now + LEASE_MS })).map(
      ({ webhook, body }) => [webhook.id, body],
    ),
  )

export function thinBodiesSuite(it: StorageTest): void {
  it.for([THIN, { payload: 'parts' } as const])(
    'G4: a delivery with %j keeps its bytes, whatever becomes of its webhook',
    async (own, { storage: { deliveries, webhooks }, scene }) => {
      const agent = await scene.agent()
      const [special, full] = [await scene.webhook(own), await scene.webhook()]
      const partsBody = '{"data":{"parts":[{"type":"text","text":"“</script>\\u0000😀"}]}}'
      const event = anEvent(agent, { serviceUrl: 'https://before.example', partsBody })
      const body = ownBody(own, event)
      expect(body).toContain(own.payload === 'thin' ? 'https://before.example/v1/' : partsBody)
      const run = await scene.run(agent)
      const recorded = await scene.answer(run, NOW, scene.outgoing(event, claim))
      const born = recorded.kind === 'recorded' ? recorded.deliveries : []
      const bytes = new Map([
        [special.id, body],
        [full.id, event.body],
      ])
      expect(new Map(born.map((one) => [one.webhook.id, one.body]))).toEqual(bytes)
      for (const one of born)
        expect(await deliveries.get(agent.projectId, one.delivery.id)).toMatchObject({
          body: one.body,
          attempts: [],
        })
      await webhooks.update(agent.projectId, special.id, { payload: 'full', updatedAt: NOW })
      await webhooks.update(agent.projectId, full.id, { ...THIN, updatedAt: NOW })
      expect(await claimedBodies(deliveries, NOW + LEASE_MS)).toEqual(bytes)
      for (const { delivery } of born) await deliveries.cancel(agent.projectId, delivery.id, NOW)
      await deliveries.redeliver({ projectId: agent.projectId }, { limit: 10 }, NOW + MINUTE)
      expect(await claimedBodies(deliveries, NOW + MINUTE)).toEqual(bytes)
    },
  )

  it('a change of the payload applies to the next event', async ({
    storage: { deliveries, webhooks },
    scene,
  }) => {
    const agent = await scene.agent()
    const { id } = await scene.webhook()
    const changed = await webhooks.update(agent.projectId, id, { ...THIN, updatedAt: NOW })
    expect(changed).toMatchObject(THIN)
    const event = anEvent(agent)
    await scene.publish(agent, event)
    expect(await claimedBodies(deliveries, NOW)).toEqual(new Map([[id, ownBody(THIN, event)]]))
  })

  it.for([claim, undefined])(
    'a test event is thin too, with the claim %j',
    async (given, { storage: { deliveries }, scene }) => {
      const agent = await scene.agent()
      const { id, projectId } = await scene.webhook(THIN)
      const event = { ...anEvent(agent), name: 'webhook.test' }
      const published = await deliveries.publishTo(id, event, UNKNOWN_ID, given)
      const body = ownBody(THIN, event)
      expect(published?.claims.deliveries.map((one) => one.body)).toEqual(given ? [body] : [])
      expect(await deliveries.get(projectId, UNKNOWN_ID)).toMatchObject({ body })
    },
  )
}
