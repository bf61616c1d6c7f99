import { createService, MasterKeyError } from '@org/agent-messaging-core'
import { failure } from '@org/agent-messaging-core/runtime'
import { fakeCrypto, fakePlatform, unwrap } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'

const PROBLEM =
  'the master key does not match this database; use the key that encrypted the database'

/** A storage with a queued message and a webhook, from a service with the master key `own`. */
async function scene() {
  const platform = fakePlatform({ handler: () => ({ kind: 'answered', response: 'hi' }) })
  const on = (crypto: ReturnType<typeof fakeCrypto>, storage = platform.storage) =>
    createService({ ...platform, crypto, storage })
  const first = on(fakeCrypto('own'))
  const { id: projectId } = await first.projects.create({ name: 'p' })
  const agent = { projectId, name: 'bot', runtime: { kind: 'fake' } }
  await first.agents.create({ ...agent, desiredState: 'running' })
  await first.webhooks.create({ projectId, url: 'https://r.example/', events: ['*'] })
  await first.tick({ budgetMs: 0 })
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'hello', waitMs: 0 }
  await first.messages.enqueue({
    ...sent,
    transaction: { ...platform.storage, onEnd: () => undefined },
  })
  return { ...platform, on, projectId }
}

describe('a service with another master key than that of its storage', () => {
  it('does not start, and does no pass', async () => {
    const { on, runtime, sender, telemetry, clock } = await scene()
    const other = on(fakeCrypto('another'))
    const before = telemetry.facts.length
    for (const call of [() => other.start(), () => other.tick({ budgetMs: 1_000 })])
      await expect(call()).rejects.toEqual(new MasterKeyError(PROBLEM))
    await clock.advance(60_000)
    expect([runtime.requests, sender.requests]).toEqual([[], []])
    expect(telemetry.facts.slice(before)).toEqual([])
    await on(fakeCrypto('own')).start()
    await clock.advance(1_000)
    expect(sender.requests).not.toEqual([])
  })

  it('encrypts nothing, also if it never starts', async () => {
    const { on, projectId, storage } = await scene()
    const { webhooks, agents, messages, hooks } = on(fakeCrypto('another'))
    const ref = { projectId, agent: 'bot' }
    const { data } = await messages.list({ ...ref, limit: 1 })
    const before = unwrap(await storage.webhooks.list(projectId, { limit: 9 })).data
    const webhook = { projectId, webhookId: before[0]?.id ?? '' }
    const hook = { url: 'https://mine.example/' }
    for (const call of [
      () => webhooks.create({ projectId, ...hook, events: ['*'] }),
      () => webhooks.update({ ...webhook, change: { headers: { A: 'b' } } }),
      () => webhooks.rotateSecret(webhook),
      () => agents.create({ projectId, name: 'new', runtime: { kind: 'fake' } }),
      () => messages.send({ ...ref, sessionId: 's', message: 'hi', hook }),
      () => hooks.set({ ...ref, messageId: data[0]?.id ?? '', ...hook }),
      () => webhooks.rotateSecret(webhook),
    ])
      await expect(call()).rejects.toEqual(new MasterKeyError(PROBLEM))
    const after = unwrap(await storage.webhooks.list(projectId, { limit: 9 })).data
    expect(after).toEqual(before)
  })

  it('starts if one of its other keys belongs to the storage', async () => {
    const { on, clock, sender } = await scene()
    await on(fakeCrypto('new', ['own'])).start()
    await clock.advance(1_000)
    expect(sender.requests).not.toEqual([])
  })

  it('loses against a service that starts an empty storage at the same time', async () => {
    const platform = fakePlatform()
    const starts = ['one', 'two'].map((key) =>
      createService({ ...platform, crypto: fakeCrypto(key) }).start(),
    )
    const statuses = (await Promise.allSettled(starts)).map(({ status }) => status)
    expect(statuses.sort()).toEqual(['fulfilled', 'rejected'])
  })
})

it('a start waits for the storage, and a pass does nothing without it', async () => {
  const { on, storage, clock, runtime } = await scene()
  let isAway = true
  const { credentials } = storage
  const readSetting: typeof credentials.readSetting = (name) =>
    isAway
      ? Promise.resolve(failure({ kind: 'unavailable', reason: 'away' }))
      : credentials.readSetting(name)
  const service = on(fakeCrypto('own'), {
    ...storage,
    credentials: { ...credentials, readSetting },
  })
  const starting = service.start()
  expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ messages: 0, deliveries: 0 })
  await clock.advance(5_000)
  expect(runtime.requests).toEqual([])
  isAway = false
  await clock.advance(5_000)
  await starting
  expect(runtime.requests).toHaveLength(1)
})
