import { success } from '@org/agent-messaging-core/runtime'
import { createService, type ServiceOptions } from '@org/agent-messaging-core'
import { fakeCrypto, fakePlatform, unwrap } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { webhookSecretContext } from '../src/domain/webhooks/webhook.js'

const url = 'https://receiver.example/hook'
const KEY = 'Bearer canary-7f3a'

/**
 * The records that a service with the old master key sealed: two webhooks, one in the grace of
 * a rotation, and two agents, one with secrets.
 */
async function scene() {
  const platform = fakePlatform()
  const runtime = {
    ...platform.runtime,
    parseOptions: async () => success({ options: {}, secrets: { apiKey: 'k' } }),
  }
  const bare = {
    ...platform.runtime,
    kind: 'bare',
    parseOptions: async () => success({ options: {}, secrets: {} }),
  }
  const on = (crypto: ServiceOptions['crypto']) =>
    createService({ ...platform, runtimes: [runtime, bare], crypto })
  const old = on(fakeCrypto('old'))
  const { id: projectId } = await old.projects.create({ name: 'p' })
  const hook = { projectId, url, events: ['*' as const] }
  const { webhook } = await old.webhooks.create({ ...hook, headers: { Authorization: KEY } })
  await old.webhooks.rotateSecret({ projectId, webhookId: webhook.id })
  await old.webhooks.create(hook)
  for (const kind of ['fake', 'bare'])
    await old.agents.create({ projectId, name: kind, runtime: { kind } })
  return { ...platform, on, old, projectId, webhook }
}

/** All steps, from the first to the last. */
async function reseal({ secrets }: Awaited<ReturnType<typeof scene>>['old']) {
  let sum = { resealed: 0, unopened: 0 }
  for (let found = await secrets.reseal(); ; found = await secrets.reseal({ from: found.next })) {
    sum = { resealed: sum.resealed + found.resealed, unopened: sum.unopened + found.unopened }
    if (!found.next) return sum
  }
}

describe('another master key', () => {
  it('decrypts all secrets once they are resealed with the new key', async () => {
    const { on, projectId, webhook, sender, clock, storage } = await scene()
    expect(await reseal(on(fakeCrypto('new', ['old'])))).toEqual({ resealed: 3, unopened: 0 })
    expect(await reseal(on(fakeCrypto('new', ['old'])))).toEqual({ resealed: 0, unopened: 0 })
    const alone = on(fakeCrypto('new'))
    expect(await reseal(alone)).toEqual({ resealed: 0, unopened: 0 })

    await expect(on(fakeCrypto('old')).start()).rejects.toThrow('the master key does not match')
    await alone.start()
    await alone.webhooks.sendTestEvent({ projectId, webhookId: webhook.id })
    await clock.advance(0)
    expect(sender.requests[0]?.headers).toMatchObject({
      Authorization: KEY,
      'webhook-signature': expect.stringContaining(' v1,') as string,
    })
    const [agent] = unwrap(await storage.agents.list(projectId, { limit: 9 })).data.filter(
      ({ name }) => name === 'fake',
    )
    expect(
      fakeCrypto('new').unseal(
        agent?.runtime.secrets ?? webhook.secret,
        `agents/${agent?.id}/runtime`,
      ),
    ).toContain('apiKey')
  })

  it('keeps the secrets that it cannot decrypt, and counts them', async () => {
    const { on } = await scene()
    const stranger = on(fakeCrypto('new'))
    expect(await reseal(stranger)).toEqual({ resealed: 0, unopened: 3 })
    await expect(stranger.start()).rejects.toThrow('the master key does not match')
    expect(await reseal(on(fakeCrypto('new', ['old'])))).toEqual({ resealed: 3, unopened: 0 })
  })

  it('keeps a webhook as it is if one of its secrets cannot be decrypted', async () => {
    const { on, old, projectId, webhook, storage } = await scene()
    const present = await old.webhooks.get({ projectId, webhookId: webhook.id })
    const lost = fakeCrypto('lost').seal('x', webhookSecretContext(webhook.id))
    const headers = { names: ['X-A'], sealed: lost }
    await storage.webhooks.update(projectId, webhook.id, { headers, updatedAt: 0 })
    expect(await reseal(on(fakeCrypto('new', ['old'])))).toEqual({ resealed: 2, unopened: 1 })
    await storage.webhooks.update(projectId, webhook.id, { headers: null, updatedAt: 0 })
    await storage.webhooks.update(projectId, webhook.id, {
      rotation: { secret: lost, previousUntil: 0 },
      updatedAt: 0,
    })
    await storage.webhooks.update(projectId, webhook.id, {
      rotation: { secret: present.secret, previousUntil: 0 },
      updatedAt: 0,
    })
    expect(await reseal(on(fakeCrypto('new', ['old'])))).toEqual({ resealed: 0, unopened: 1 })
    await storage.webhooks.update(projectId, webhook.id, { previousSecret: null, updatedAt: 0 })
    expect(await reseal(on(fakeCrypto('new', ['old'])))).toEqual({ resealed: 1, unopened: 0 })
  })

  it('reseals the present and the previous secret of a webhook', async () => {
    const { on, projectId, webhook, storage } = await scene()
    const crypto = fakeCrypto('new')
    const sealed = (by: typeof crypto) => by.seal('x', webhookSecretContext(webhook.id))
    await storage.webhooks.update(projectId, webhook.id, {
      rotation: { secret: sealed(fakeCrypto('old')), previousUntil: 0 },
      updatedAt: 0,
    })
    await storage.webhooks.update(projectId, webhook.id, {
      rotation: { secret: sealed(crypto), previousUntil: 0 },
      updatedAt: 0,
    })
    await storage.webhooks.update(projectId, webhook.id, { headers: null, updatedAt: 0 })
    await reseal(on(fakeCrypto('new', ['old'])))
    const resealed = unwrap(await storage.webhooks.get(projectId, webhook.id))
    expect([resealed?.secret, resealed?.previousSecret?.secret]).toEqual([
      sealed(crypto),
      sealed(crypto),
    ])
  })

  it('continues where a step ended', async () => {
    const platform = fakePlatform()
    const steps: number[] = []
    const webhooks = {
      ...platform.storage.webhooks,
      reseal: ({ after }: { readonly after: number }) => {
        steps.push(after)
        return Promise.resolve(
          success({ resealed: 1, unopened: 0, ...(after < 20 && { next: after + 10 }) }),
        )
      },
    }
    const service = createService({
      ...platform,
      storage: { ...platform.storage, webhooks },
      crypto: fakeCrypto('new', ['old']),
    })
    expect(await reseal(service)).toEqual({ resealed: 3, unopened: 0 })
    expect(steps).toEqual([0, 10, 20])
  })

  it('accepts run tokens that were made with the old key', async () => {
    const { on, runtime, old, projectId } = await scene()
    const agent = { projectId, agent: 'fake' }
    await old.start()
    await old.agents.start(agent)
    const sent = old.messages.send({ ...agent, sessionId: 's', message: 'm', waitMs: 0 })
    const { message } = await sent
    const runToken = runtime.requests[0]?.runToken ?? ''
    const isGood = (crypto: ServiceOptions['crypto'], token = runToken) =>
      on(crypto).host.isRunToken({ messageId: message.id, runToken: token })
    expect([
      isGood(fakeCrypto('new', ['old'])),
      isGood(fakeCrypto('old')),
      isGood(fakeCrypto('new')),
    ]).toEqual([true, true, false])
    expect(isGood(fakeCrypto('old'), runToken.replace('amr_', 'amr_0'))).toBe(false)
  })
})
