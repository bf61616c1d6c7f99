import { expect } from 'vitest'
import type { WebhookFilter } from '@org/agent-messaging-core/host'
import type { Sealed, WebhookChange } from '@org/agent-messaging-core/storage'
import { aWebhook, PROJECT_ID } from '../../builders.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

export function webhooksSuite(it: StorageTest): void {
  it('keeps a webhook and reads it back whole', async ({ storage: { webhooks }, scene }) => {
    const { id: agentId } = await scene.agent()
    const headers = { names: ['Authorization', '__proto__'], sealed: 'v1.headers' as Sealed }
    const filter: WebhookFilter = {
      agentId,
      sessionIdPrefix: "it's é",
      metadata: [
        { path: 'a.b', equals: null },
        { path: '__proto__', exists: false },
      ],
    }
    const optional = { filter, description: "the customer's é", headers }
    const disabled = { kind: 'disabled', reason: 'operator', at: NOW } as const
    const facts = {
      url: 'https://receiver.example/ü?a=b#c',
      secret: 'v1.sealed' as Sealed,
      createdAt: NOW + 1,
      updatedAt: NOW + 2,
    }
    for (const webhook of [
      aWebhook(),
      aWebhook({
        ...facts,
        ...optional,
        events: ['agent.error', 'agent.started'],
        status: disabled,
        isPaused: true,
        sending: {
          maxConcurrency: 2,
          requestsPerSecond: 0.5,
          timeoutMs: 100,
          retrySchedule: [1, 2],
        },
      }),
    ]) {
      expect(await webhooks.create(webhook, 10)).toBe('created')
      expect(await webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
    }
    expect(await webhooks.get(PROJECT_ID, UNKNOWN_ID)).toBeUndefined()
  })

  it('limits the webhooks of a project, and counts a repeated creation once', async ({
    storage: { webhooks },
  }) => {
    const last = aWebhook()
    expect(await webhooks.create(aWebhook(), 2)).toBe('created')
    expect(await webhooks.create(last, 2)).toBe('created')
    expect(await webhooks.create(last, 2)).toBe('created')
    expect(await webhooks.create(aWebhook(), 2)).toBe('limit_reached')
    expect(await webhooks.create(aWebhook({ projectId: OTHER_PROJECT_ID }), 2)).toBe('created')
    expect((await webhooks.list(PROJECT_ID, { limit: 10 })).data).toHaveLength(2)
  })

  it('keeps the limit when many are created at once', async ({ storage, second }) => {
    const creates = Array.from({ length: 10 }, (_, i) =>
      (i % 2 ? storage : second).webhooks.create(aWebhook(), 3),
    )
    expect((await Promise.all(creates)).filter((answer) => answer === 'created')).toHaveLength(3)
  })

  it('a creation that is repeated late undoes no change', async ({
    storage: { webhooks },
    scene,
  }) => {
    const webhook = await scene.webhook()
    const changed = await webhooks.update(PROJECT_ID, webhook.id, {
      url: 'https://new.example',
      updatedAt: NOW + 5,
    })
    expect(await webhooks.create(webhook, 10)).toBe('created')
    expect(await webhooks.get(PROJECT_ID, webhook.id)).toEqual(changed)
  })

  it('changes each setting of sending apart, and clears it by null', async ({
    storage: { webhooks },
    scene,
  }) => {
    const webhook = await scene.webhook({ sending: { maxConcurrency: 2, timeoutMs: 500 } })
    const update = (change: Partial<WebhookChange>) =>
      webhooks.update(PROJECT_ID, webhook.id, { ...change, updatedAt: NOW + 5 })
    const changed = await update({
      sending: { timeoutMs: null, retrySchedule: [1, 2] },
      isPaused: true,
    })
    expect(changed).toMatchObject({ isPaused: true })
    expect(changed?.sending).toEqual({ maxConcurrency: 2, retrySchedule: [1, 2] })
    await update({ sending: { maxConcurrency: null, retrySchedule: null } })
    const cleared = await webhooks.get(PROJECT_ID, webhook.id)
    expect(cleared).toEqual({ ...webhook, sending: undefined, isPaused: true, updatedAt: NOW + 5 })
  })

  it('changes what it is told and leaves the rest', async ({ storage: { webhooks }, scene }) => {
    const { id: agentId } = await scene.agent()
    const webhook = await scene.webhook({ description: 'old' })
    const headers = { names: ['X-A'], sealed: 'v1.headers' as Sealed }
    const texts = { url: 'https://new.example', description: 'new' }
    const change = {
      ...texts,
      events: ['agent.error'],
      filter: { agentId },
      headers,
      updatedAt: NOW + 5,
    } as const
    expect(await webhooks.update(PROJECT_ID, webhook.id, change)).toEqual({ ...webhook, ...change })
    const disabled = {
      status: { kind: 'disabled', reason: 'operator', at: NOW },
      updatedAt: NOW + 6,
    } as const
    expect(await webhooks.update(PROJECT_ID, webhook.id, disabled)).toEqual({
      ...webhook,
      ...change,
      ...disabled,
    })
    expect(await webhooks.get(PROJECT_ID, webhook.id)).toEqual({
      ...webhook,
      ...change,
      ...disabled,
    })
    expect(await webhooks.update(PROJECT_ID, UNKNOWN_ID, change)).toBeUndefined()
  })

  it('clears an optional field that is changed to null', async ({
    storage: { webhooks },
    scene,
  }) => {
    const { id: agentId } = await scene.agent()
    const set = {
      filter: { agentId },
      description: 'old',
      headers: { names: ['X-A'], sealed: 'v1.headers' as Sealed },
    }
    const { filter: _f, description: _d, headers: _h, ...webhook } = await scene.webhook(set)
    const change = { filter: null, description: null, headers: null, updatedAt: NOW + 5 }
    const changed = await webhooks.update(PROJECT_ID, webhook.id, change)
    expect(changed).toEqual({ ...webhook, updatedAt: NOW + 5 })
    expect(changed).not.toHaveProperty('filter')
    expect(await webhooks.get(PROJECT_ID, webhook.id)).toEqual(changed)
  })

  it('deletes a webhook once', async ({ storage: { webhooks }, scene }) => {
    const { id } = await scene.webhook()
    expect(await webhooks.delete(PROJECT_ID, UNKNOWN_ID)).toBe(false)
    expect(await webhooks.delete(PROJECT_ID, id)).toBe(true)
    expect(await webhooks.get(PROJECT_ID, id)).toBeUndefined()
    expect((await webhooks.list(PROJECT_ID, { limit: 10 })).data).toEqual([])
    expect(await webhooks.update(PROJECT_ID, id, { updatedAt: NOW })).toBeUndefined()
    expect(await webhooks.delete(PROJECT_ID, id)).toBe(false)
  })

  it('a deleted webhook leaves room for another', async ({ storage: { webhooks }, scene }) => {
    const { id } = await scene.webhook()
    expect(await webhooks.create(aWebhook(), 1)).toBe('limit_reached')
    await webhooks.delete(PROJECT_ID, id)
    expect(await webhooks.create(aWebhook(), 1)).toBe('created')
  })

  it('rotates the secret in one step, and ends the grace of the old one when told', async ({
    storage,
    scene,
  }) => {
    const { id, secret } = await scene.webhook()
    const rotation = {
      rotation: { secret: 'the new one' as Sealed, previousUntil: NOW + 60 * MINUTE },
      updatedAt: NOW + 1,
    }
    const rotated = await storage.webhooks.update(PROJECT_ID, id, rotation)
    expect(rotated).toMatchObject({
      secret: 'the new one',
      previousSecret: { secret, until: NOW + 60 * MINUTE },
      updatedAt: NOW + 1,
    })
    expect(await storage.webhooks.get(PROJECT_ID, id)).toEqual(rotated)

    const again = await storage.webhooks.update(PROJECT_ID, id, {
      ...rotation,
      rotation: { ...rotation.rotation, secret: 'a newer one' as Sealed },
    })
    expect(again).toMatchObject({
      secret: 'a newer one',
      previousSecret: { secret: 'the new one' },
    })
    const kept = await storage.webhooks.update(PROJECT_ID, id, {
      url: 'https://other.example',
      updatedAt: NOW + 2,
    })
    expect(kept).toMatchObject({ secret: 'a newer one', previousSecret: { secret: 'the new one' } })
    const finished = await storage.webhooks.update(PROJECT_ID, id, {
      previousSecret: null,
      updatedAt: NOW + 3,
    })
    expect(finished).toMatchObject({ secret: 'a newer one' })
    expect(finished).not.toHaveProperty('previousSecret')
  })

  it('hands both secrets to a claim during the grace period', async ({ storage, scene }) => {
    const { id, secret } = await scene.webhook()
    await scene.publish(await scene.agent())
    await storage.webhooks.update(PROJECT_ID, id, {
      rotation: { secret: 'the new one' as Sealed, previousUntil: NOW + 60 * MINUTE },
      updatedAt: NOW,
    })
    const [claimed] = await storage.deliveries.claim({
      ...CLAIM_ALL,
      now: NOW,
      until: NOW + LEASE_MS,
      limit: 1,
    })
    expect(claimed?.webhook).toMatchObject({ secret: 'the new one', previousSecret: { secret } })
  })

  it('G6: rotates no secret of another project', async ({ storage, scene }) => {
    const webhook = await scene.webhook()
    const rotation = {
      rotation: { secret: 'theirs' as Sealed, previousUntil: NOW },
      updatedAt: NOW,
    }
    expect(await storage.webhooks.update(OTHER_PROJECT_ID, webhook.id, rotation)).toBeUndefined()
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
  })
}
