import { createService } from '@org/agent-messaging-core'
import { success } from '@org/agent-messaging-core/runtime'
import { verify } from '@octokit/webhooks-methods'
import { describe, expect, it } from 'vitest'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { adoptMasterKey } from '../src/maintenance/master-key.js'
import {
  fakeCrypto,
  fakePlatform,
  refused,
  unreachable,
  refusalOf,
  mapped,
} from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const OWN_SECRET = `whsec_${btoa('x'.repeat(32))}`

describe('a delivery', () => {
  it('is sent right after the commit of the answer, for a 200 as well as for a late answer', async () => {
    const { send, hook, sender, deliveries, clock } = await scene(echo)
    const { webhook } = await hook()
    const { message } = await send('hi', { metadata: { channel: 'C' } })
    await clock.advance(0)
    expect(sender.requests).toHaveLength(1)
    const [{ delivery, body, attempts } = {} as never] = await deliveries()
    expect(sender.requests[0]).toMatchObject({
      url: webhook.url,
      body,
      deadlineMs: 15_000,
      headers: { 'X-Service-Delivery': delivery.id },
    })
    expect(JSON.parse(body)).toMatchObject({
      event: 'message.responded',
      data: {
        messageId: message.id,
        response: 'hi',
        metadata: { channel: 'C' },
        channel: 'C',
        executionPrincipal: { type: 'service' },
      },
    })
    expect(delivery).toMatchObject({ state: { kind: 'delivered' }, attemptCount: 1 })
    expect(attempts).toMatchObject([
      { attemptNumber: 1, outcome: { kind: 'accepted', statusCode: 200 } },
    ])
  })

  it('follows the schedule of its webhook', async () => {
    const { send, hook, sender, service, project, clock } = await scene(echo)
    const { webhook } = await hook()
    const change = { retrySchedule: [60_000] }
    await service.webhooks.update({ projectId: project.id, webhookId: webhook.id, change })
    sender.script(refused(500), refused(500))
    await send()
    await clock.advance(59_999)
    expect(sender.requests).toHaveLength(1)
    await clock.advance(13_000)
    expect(sender.requests).toHaveLength(2)
    const filter = { projectId: project.id, status: 'exhausted' } as const
    const { data } = await service.deliveries.list({ ...filter, limit: 2 })
    expect(data).toHaveLength(1)
  })

  it('is retried on the schedule with the same id and bytes, until it is exhausted', async () => {
    const policy = {
      retry: { delaysMs: [5_000, 300_000], jitter: 0.2, maxRetryAfterMs: 86_400_000 },
    }
    const { send, hook, sender, deliveries, clock, telemetry } = await scene({ ...echo, policy })
    await hook()
    sender.script(refused(500), refused(503, 600_000), unreachable('timeout'))
    await send()
    await clock.advance(4_999)
    expect(sender.requests).toHaveLength(1)
    await clock.advance(501)
    expect(sender.requests).toHaveLength(2)
    await clock.advance(599_000)
    expect(sender.requests).toHaveLength(2) // Retry-After is longer than the schedule
    await clock.advance(2_000)
    expect(sender.requests).toHaveLength(3)
    const [{ delivery, attempts } = {} as never] = await deliveries()
    expect(delivery).toMatchObject({ state: { kind: 'exhausted' }, attemptCount: 3 })
    expect(attempts.map(({ attemptNumber, outcome }) => [attemptNumber, outcome.kind])).toEqual([
      [1, 'refused'],
      [2, 'refused'],
      [3, 'unreachable'],
    ])
    expect(new Set(sender.requests.map(({ body }) => body)).size).toBe(1)
    expect(new Set(sender.requests.map(({ headers }) => headers['X-Service-Delivery'])).size).toBe(
      1,
    )
    expect(telemetry.named('delivery.attempted')).toMatchObject([
      { statusCode: 500, state: 'pending' },
      {},
      { error: 'timeout', state: 'exhausted' },
    ])
  })

  it('of a process that died is sent again after its lease, with the same bytes', async () => {
    const { send, hook, sender, another, clock, deliveries, storage } = await scene(echo)
    await hook()
    sender.hold()
    await send()
    // The process sends, and dies before the record.
    storage.fail('deliveries.recordAttempts', { times: Infinity })
    storage.fail('deliveries.claimDue', { times: Infinity })
    sender.release()
    await another().start()
    await clock.advance(29_000)
    expect(sender.requests).toHaveLength(1)
    await clock.advance(2_000)
    expect(sender.requests).toHaveLength(2)
    expect(sender.requests[1]?.body).toBe(sender.requests[0]?.body)
    expect(await deliveries()).toMatchObject([
      { delivery: { state: { kind: 'delivered' }, attemptCount: 1 } },
    ])
  })

  it('is recorded attempt by attempt, also where a record is refused after one of the same outcome', async () => {
    const { send, hook, sender, storage, clock, deliveries } = await scene(echo)
    await hook()
    sender.script(refused(500), refused(500))
    await send()
    await clock.advance(0)
    storage.fail('deliveries.recordAttempts', { times: 1 })
    await clock.until(() => sender.requests.length === 2)
    await clock.advance(1_000)
    expect(await deliveries()).toMatchObject([
      { delivery: { attemptCount: 2, state: { kind: 'pending', step: 2 } } },
    ])
  })

  it('is not recorded twice when its lease was superseded', async () => {
    const { send, hook, sender, another, clock, telemetry, deliveries } = await scene(echo)
    await hook()
    sender.hold()
    await send()
    await clock.advance(29_000)
    await another().start()
    await clock.advance(2_000) // the other process claimed it, and is held too
    sender.release(refused(500))
    await clock.advance(0)
    expect(telemetry.named('delivery.refused')).toHaveLength(1)
    expect(await deliveries()).toMatchObject([{ delivery: { attemptCount: 1 } }])
  })

  it('is never sent unsigned: a secret of another master key is an outcome', async () => {
    const fakes = await scene(echo)
    const { hook, deliveries, clock, sender } = fakes
    await hook()
    await fakes.service.stop()
    const other = createService({
      ...fakes,
      storage: fakes.storage.reopen(),
      crypto: fakeCrypto('another key'),
    })
    await adoptMasterKey(fakes.storage, fakeCrypto('another key'))
    await other.start()
    await other.messages.send({ ...fakes.ref, sessionId: 's', message: 'hi' })
    await clock.advance(0)
    expect(sender.requests).toEqual([])
    expect(await deliveries()).toMatchObject([
      { attempts: [{ outcome: { kind: 'unreachable', error: 'unsealable_secret' } }] },
    ])
  })

  it('survives a sender that breaks its promise never to reject', async () => {
    const { send, hook, sender, deliveries, clock } = await scene(echo)
    await hook()
    Object.assign(sender, { send: () => Promise.reject(new Error('rude')) })
    await send()
    await clock.advance(0)
    expect(await deliveries()).toMatchObject([
      { attempts: [{ outcome: { error: 'protocol', detail: 'Error: rude' } }] },
    ])
  })

  it('is signed so that third parties can verify it', async () => {
    const crypto = nodeCrypto(new Uint8Array(32))
    const platform = fakePlatform(echo)
    const service = createService({ ...platform, crypto })
    await service.start()
    const { id: projectId } = await service.projects.create({ name: 'p' })
    await service.agents.create({
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    const url = 'https://receiver.example'
    const { secret } = await service.webhooks.create({
      projectId,
      url,
      events: ['message.responded'],
    })
    await service.messages.send({ projectId, agent: 'bot', sessionId: 's', message: 'grüße' })
    const [{ headers, body } = {} as never] = platform.sender.requests
    expect(await verify(secret, body, headers['X-Service-Signature'] ?? '')).toBe(true)
  })
})

describe('many deliveries', () => {
  const deliver = {
    deadlineMs: 15_000,
    leaseMs: 30_000,
    maxInFlight: 4,
    prefetch: 8,
  }

  it('to a receiver that hangs do not delay the others', async () => {
    const { send, hook, sender, clock } = await scene({ ...echo, policy: { deliver } })
    await hook('https://hangs.example')
    await hook('https://works.example')
    const { send: answer } = sender
    Object.assign(sender, {
      send: (request: Parameters<typeof answer>[0]) =>
        request.url.includes('hangs') ? new Promise(() => undefined) : answer(request),
    })
    for (let n = 0; n < 20; n++) await send(String(n))
    await clock.advance(1_000)
    expect(sender.requests).toHaveLength(20)
  })
  it('drain from a backlog without waiting for a poll each time', async () => {
    const { send, hook, sender, clock, service, ref } = await scene({
      ...echo,
      policy: { deliver },
    })
    const { webhook } = await hook()
    await service.webhooks.update({
      projectId: ref.projectId,
      webhookId: webhook.id,
      change: { enabled: false },
    })
    for (let n = 0; n < 50; n++) await send(String(n))
    await clock.advance(2_000)
    expect(sender.requests).toEqual([])
    await service.webhooks.update({
      projectId: ref.projectId,
      webhookId: webhook.id,
      change: { enabled: true },
    })
    await clock.advance(0)
    expect(sender.requests).toHaveLength(50)
  })
  it('that waited too long for their lease are let go, and claimed again', async () => {
    const { send, hook, sender, clock } = await scene({ ...echo, policy: { deliver } })
    await hook()
    sender.hold()
    for (let n = 0; n < 2; n++) await send(String(n))
    // One delivery hangs. The second waits behind it, its lease now shorter than an attempt.
    await clock.advance(20_000)
    expect(sender.requests).toHaveLength(1)
    sender.release()
    await clock.advance(0)
    expect(sender.requests).toHaveLength(1)
    await clock.advance(11_000)
    expect(sender.requests).toHaveLength(2)
  })
  it('go on while the storage takes no records, until enough wait for it', async () => {
    const { hook, send, sender, storage, clock } = await scene({ ...echo, policy: { deliver } })
    for (const name of ['a', 'b', 'c']) await hook(`https://${name}.example`)
    await send('the first answers, which the webhooks are judged by')
    await clock.advance(0)
    expect(sender.requests).toHaveLength(3)
    storage.fail('deliveries.recordAttempts', { times: Infinity })
    for (let n = 0; n < 10; n++) await send(String(n))
    await clock.advance(5_000)
    // Requests under way and results without a record are at most twice the requests in flight.
    expect(sender.requests).toHaveLength(3 + 2 * deliver.maxInFlight)
    storage.fail('deliveries.recordAttempts', { times: 0 })
    await clock.advance(2_000)
    expect(sender.requests).toHaveLength(33)
  })
  it('go on when the storage was away', async () => {
    const { hook, send, sender, storage, clock, telemetry } = await scene(echo)
    await hook()
    sender.script(refused(500))
    await send()
    storage.fail('deliveries.claimDue', { times: 20 })
    await clock.advance(20_000)
    expect(sender.requests).toHaveLength(2)
    expect(telemetry.named('store.unavailable').length).toBe(20)
  })
})

describe('registering a webhook', () => {
  const input = { url: 'https://receiver.example', events: ['message.responded'] as const }

  it('shows the secret once, made or the own one', async () => {
    const { service, project } = await scene()
    const made = await service.webhooks.create({ ...input, projectId: project.id })
    expect(made.secret).toMatch(/^whsec_/)
    expect(JSON.stringify(made.webhook)).not.toContain(made.secret)
    const own = await service.webhooks.create({
      ...input,
      projectId: project.id,
      secret: OWN_SECRET,
      description: 'mine',
    })
    expect(own).toMatchObject({
      secret: OWN_SECRET,
      webhook: { description: 'mine', status: { kind: 'enabled' } },
    })
  })
  it.each([
    ['maxConcurrency', { maxConcurrency: 0 }],
    ['maxConcurrency', { maxConcurrency: 1.5 }],
    ['requestsPerSecond', { requestsPerSecond: 0 }],
    ['requestsPerSecond', { requestsPerSecond: NaN }],
    ['timeoutMs', { timeoutMs: 99 }],
    ['retrySchedule', { retrySchedule: [0] }],
    ['retrySchedule', { retrySchedule: Array<number>(51).fill(1) }],
    ['url', { url: '' }],
    ['url', { url: 'https://refused.example' }],
    ['url', { url: 'orders' }],
    ['events', { events: [] }],
    ['events', { events: ['message.sent' as never] }],
    ['secret', { secret: 'short' }],
    ['filter.agentId', { filter: { agentId: 'bot' } }],
    ['filter', { filter: {} }],
    ['filter.metadata.0.path', { filter: { metadata: [{ path: '', exists: true }] } }],
    ['description', { description: 'x'.repeat(501) }],
  ])('refuses a bad %s', async (path, more) => {
    const { service, project, sender } = await scene()
    sender.refuse('https://refused.example', 'it is private')
    const error = await refusalOf(
      service.webhooks.create({ ...input, projectId: project.id, ...more }),
    )
    expect(error).toMatchObject({ kind: 'invalid', issues: [{ path }] })
  })
  it.each(['projectId', 'url', 'events'])('says that %s is required', async (path) => {
    const { service, project } = await scene()
    const created = service.webhooks.create({
      ...input,
      projectId: project.id,
      [path]: undefined,
    })
    expect(await refusalOf(created)).toEqual({
      kind: 'invalid',
      issues: [{ path, message: 'is required' }],
    })
  })
  it('refuses a project that does not exist', async () => {
    const { service, project } = await scene()
    const projectId = project.id.replace(/^0/, 'f')
    const error = await refusalOf(service.webhooks.create({ ...input, projectId }))
    expect(error).toEqual({ kind: 'project_not_found' })
    const { data } = await service.webhooks.list({ projectId, limit: 10 })
    expect(data).toEqual([])
  })
  it('refuses more webhooks than the limit of the project', async () => {
    const { defaultLimits } = await import('@org/agent-messaging-core/runtime')
    const { service, project } = await scene({
      policy: { limits: { ...defaultLimits, webhooksPerProject: 1 } },
    })
    await service.webhooks.create({ ...input, projectId: project.id })
    expect(
      (await refusalOf(service.webhooks.create({ ...input, projectId: project.id }))).kind,
    ).toBe('too_many_webhooks')
  })
  it('can be for one agent alone', async () => {
    const { service, project, bot, send, sender, clock } = await scene(echo)
    const { agent } = await service.agents.create({
      projectId: project.id,
      name: 'other',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    await service.webhooks.create({ ...input, projectId: project.id, filter: { agentId: bot.id } })
    await send('a', { agent: agent.name })
    await send('b')
    await clock.advance(0)
    expect(sender.requests).toHaveLength(1)
  })
  it('tells when the storage is away', async () => {
    const { service, project, storage, bot } = await scene()
    storage.fail('agents.get')
    expect(
      (
        await refusalOf(
          service.webhooks.create({
            ...input,
            projectId: project.id,
            filter: { agentId: bot.id },
          }),
        )
      ).kind,
    ).toBe('unavailable')
  })
})

describe('changing a webhook', () => {
  it('holds for the requests from then on', async () => {
    const { service, ref, hook, send, sender, clock } = await scene(echo)
    const { webhook } = await hook()
    const which = { projectId: ref.projectId, webhookId: webhook.id }
    const change = {
      url: 'https://new.example',
      events: ['agent.error', 'agent.error'] as const,
      description: 'x',
      filter: null,
    }
    expect(await service.webhooks.update({ ...which, change })).toMatchObject({
      url: 'https://new.example',
      events: ['agent.error'],
      description: 'x',
    })
    const cleared = await service.webhooks.update({
      ...which,
      change: { description: null, enabled: true },
    })
    expect(cleared).not.toHaveProperty('description')
    await send()
    await clock.advance(0)
    expect(sender.requests).toEqual([])
  })
  it('is refused when the change is bad or the webhook is not there', async () => {
    const { service, ref, hook, storage } = await scene()
    const { webhook } = await hook()
    const kindOf = async (change: object, webhookId = webhook.id) =>
      (await refusalOf(service.webhooks.update({ projectId: ref.projectId, webhookId, change })))
        .kind
    expect(await kindOf({ events: [] })).toBe('invalid')
    expect(await kindOf({}, ref.projectId)).toBe('webhook_not_found')
    const { get } = storage.webhooks
    Object.assign(storage.webhooks, {
      get: (...args: Parameters<typeof get>) =>
        mapped(get(...args), (webhook) => storage.webhooks.delete(...args).then(() => webhook)),
    })
    expect(await kindOf({})).toBe('webhook_not_found')
  })
})

describe('a test event', () => {
  it('goes to the one webhook, subscribed or not', async () => {
    const { service, project, sender, clock, hook } = await scene(echo)
    await hook('https://other.example')
    const input = {
      projectId: project.id,
      url: 'https://one.example',
      events: ['agent.error'] as const,
    }
    const { webhook } = await service.webhooks.create(input)
    const delivery = await service.webhooks.sendTestEvent({
      projectId: project.id,
      webhookId: webhook.id,
    })
    await clock.advance(0)
    expect(sender.requests.map(({ url }) => url)).toEqual(['https://one.example'])
    expect(JSON.parse(sender.requests[0]?.body ?? '')).toMatchObject({
      event: 'webhook.test',
      data: { webhookId: webhook.id },
    })
    const found = await service.deliveries.get({ projectId: project.id, deliveryId: delivery.id })
    expect(found.delivery.state.kind).toBe('delivered')
  })
  it('is refused for a disabled webhook, and for none', async () => {
    const { service, project, hook, storage } = await scene(echo)
    const { webhook } = await hook()
    const which = { projectId: project.id, webhookId: webhook.id }
    await service.webhooks.update({ ...which, change: { enabled: false } })
    expect((await refusalOf(service.webhooks.sendTestEvent(which))).kind).toBe('webhook_disabled')
    await service.webhooks.update({ ...which, change: { enabled: true } })
    const { get } = storage.webhooks
    Object.assign(storage.webhooks, {
      get: (...args: Parameters<typeof get>) =>
        mapped(get(...args), (webhook) => storage.webhooks.delete(...args).then(() => webhook)),
    })
    expect((await refusalOf(service.webhooks.sendTestEvent(which))).kind).toBe('webhook_not_found')
  })
})

describe('rotating a secret', () => {
  async function rotating(graceMs?: number) {
    const crypto = nodeCrypto(new Uint8Array(32))
    const platform = fakePlatform(echo)
    const service = createService({ ...platform, crypto })
    await service.start()
    const { id: projectId } = await service.projects.create({ name: 'p' })
    await service.agents.create({
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    const created = await service.webhooks.create({
      projectId,
      url: 'https://receiver.example',
      events: ['message.responded'],
    })
    const { webhook, secret: old } = created
    const which = { projectId, webhookId: webhook.id }
    const { secret: fresh } = await service.webhooks.rotateSecret({ ...which, graceMs })
    /** Which of the two verifies the header with the prefix of a delivery made now. */
    const signedWith = async () => {
      await service.messages.send({ projectId, agent: 'bot', sessionId: 's', message: 'hi' })
      await platform.clock.advance(0)
      const { headers, body } = platform.sender.requests.at(-1) ?? { headers: {}, body: '' }
      const signature = (headers as Record<string, string>)['X-Service-Signature'] ?? ''
      return {
        old: await verify(old, body, signature),
        fresh: await verify(fresh, body, signature),
        headers: headers as Record<string, string>,
      }
    }
    return { service, which, old, fresh, clock: platform.clock, signedWith, crypto, platform }
  }

  it('signs with the old one during the grace, and with the new one after it', async () => {
    const { signedWith, clock } = await rotating(60_000)
    const during = await signedWith()
    expect(during).toMatchObject({ old: true, fresh: false })
    expect(during.headers['webhook-signature']?.split(' ')).toHaveLength(2)
    await clock.advance(60_000)
    const after = await signedWith()
    expect(after).toMatchObject({ old: false, fresh: true })
    expect(after.headers['webhook-signature']?.split(' ')).toHaveLength(1)
  })
  it('can be without a grace, and a grace can be finished early', async () => {
    expect(await (await rotating(0)).signedWith()).toMatchObject({ old: false, fresh: true })
    const { service, which, signedWith } = await rotating()
    expect(await service.webhooks.finishRotation(which)).not.toHaveProperty('previousSecret')
    expect(await signedWith()).toMatchObject({ old: false, fresh: true })
  })
  it('has a grace of a day unless told otherwise', async () => {
    const { service, which, clock } = await rotating()
    const webhook = await service.webhooks.get(which)
    expect(webhook.previousSecret?.until).toBe(clock.now() + 24 * 3_600_000)
  })
  it('to the own secret can be repeated: the old one stays the old one', async () => {
    const { service, which, signedWith } = await rotating(0)
    const first = await service.webhooks.rotateSecret({ ...which, secret: OWN_SECRET })
    expect(await service.webhooks.rotateSecret({ ...which, secret: OWN_SECRET })).toEqual(first)
    expect(await signedWith()).toMatchObject({ fresh: true })
  })
  it('sends nothing when the new secret cannot be read, for half signed is not signed', async () => {
    const { service, which, platform, crypto } = await rotating()
    const stranger = nodeCrypto(new Uint8Array(32).fill(1))
    const foreign = stranger.seal('whsec_x', `webhooks/${which.webhookId}/secret`)
    const rotation = { secret: foreign, previousUntil: platform.clock.now() + 1_000 }
    await platform.storage.webhooks.update(which.projectId, which.webhookId, {
      rotation,
      updatedAt: 0,
    })
    expect(crypto.unseal(foreign, `webhooks/${which.webhookId}/secret`)).toBeUndefined()
    await service.messages.send({
      projectId: which.projectId,
      agent: 'bot',
      sessionId: 's',
      message: 'hi',
    })
    await platform.clock.advance(0)
    expect(platform.sender.requests).toEqual([])
  })
  it('is refused with a bad secret or grace, and for a webhook that is not there', async () => {
    const { service, which, platform } = await rotating()
    const { rotateSecret, finishRotation } = service.webhooks
    expect((await refusalOf(rotateSecret({ ...which, secret: 'short' }))).kind).toBe('invalid')
    const longest = 30 * 24 * 3_600_000
    for (const graceMs of [-1, longest + 1])
      expect((await refusalOf(rotateSecret({ ...which, graceMs }))).kind).toBe('invalid')
    await rotateSecret({ ...which, graceMs: longest })
    const nothing = { ...which, webhookId: which.projectId }
    expect((await refusalOf(rotateSecret({ ...nothing, secret: OWN_SECRET }))).kind).toBe(
      'webhook_not_found',
    )
    expect((await refusalOf(finishRotation(nothing))).kind).toBe('webhook_not_found')
    const { get } = platform.storage.webhooks
    const vanishing = (...args: Parameters<typeof get>) =>
      mapped(get(...args), (webhook) =>
        platform.storage.webhooks.delete(...args).then(() => webhook),
      )
    Object.assign(platform.storage.webhooks, { get: vanishing })
    expect((await refusalOf(rotateSecret(which))).kind).toBe('webhook_not_found')
  })
})

describe('deleting a webhook', () => {
  it('cancels its open deliveries, and keeps the finished ones on record', async () => {
    const { service, ref, hook, send, sender, deliveries, clock } = await scene(echo)
    const { webhook } = await hook()
    await send('delivered')
    await clock.advance(0)
    sender.script(refused(500))
    await send('to be cancelled')
    await clock.advance(0)
    const which = { projectId: ref.projectId, webhookId: webhook.id }
    await service.webhooks.delete(which)
    expect((await refusalOf(service.webhooks.delete(which))).kind).toBe('webhook_not_found')
    expect((await refusalOf(service.webhooks.get(which))).kind).toBe('webhook_not_found')
    expect((await service.webhooks.list({ projectId: ref.projectId, limit: 10 })).data).toEqual([])
    await clock.advance(0)
    expect((await deliveries()).map(({ delivery }) => delivery.state.kind)).toEqual([
      'delivered',
      'cancelled',
    ])
    await clock.advance(600_000)
    expect(sender.requests).toHaveLength(2)
  })
  it('cancels a backlog of thousands a part at a time, also of webhooks that another process deleted', async () => {
    const { another, ref, hook, storage, clock } = await scene()
    const { webhook } = await hook()
    const left = [1_000, 1_000, 7]
    Object.assign(storage.deliveries, {
      cancelOrphans: () => Promise.resolve(success(left.shift() ?? 0)),
    })
    await another().webhooks.delete({ projectId: ref.projectId, webhookId: webhook.id })
    await clock.advance(60_000)
    expect(left).toEqual([])
  })
  it('is made up for by a pass where no workers run', async () => {
    const { another, service, ref, hook, send, sender, clock } = await scene(echo)
    const { webhook } = await hook()
    sender.script(refused(500))
    await send()
    await clock.advance(0)
    await service.stop()
    const admin = another()
    await admin.webhooks.delete({ projectId: ref.projectId, webhookId: webhook.id })
    expect(await admin.tick({ budgetMs: 1_000 })).toMatchObject({ cancelled: 1 })
  })
})

/** Stopped, with an attempt under way that outlived the grace. */
async function stoppedScene() {
  const stopped = await scene(echo)
  const { hook, send, service, sender, clock } = stopped
  await hook()
  sender.hold()
  await send()
  await clock.until(() => sender.held === 1)
  const stopping = service.stop({ graceMs: 1_000 })
  await clock.advance(1_000)
  await stopping
  return stopped
}

it('an attempt that a stop cut short is made again at once, without a failure or a step of the schedule', async () => {
  const { another, sender, clock, deliveries, telemetry } = await stoppedScene()
  sender.release(unreachable('interrupted'))
  await clock.advance(0)
  expect(await deliveries()).toMatchObject([
    { delivery: { attemptCount: 0, state: { kind: 'pending', step: 0 } }, attempts: [] },
  ])
  expect(telemetry.named('delivery.attempted')).toEqual([])
  await another().start()
  await clock.advance(0)
  expect(await deliveries()).toMatchObject([
    { delivery: { attemptCount: 1, state: { kind: 'delivered' } } },
  ])
})

it('a stopped service records an attempt that its receiver ends after the stop', async () => {
  const { sender, clock, deliveries } = await stoppedScene()
  sender.release(unreachable('reset'))
  await clock.advance(0)
  expect(await deliveries()).toMatchObject([
    { delivery: { attemptCount: 1, state: { kind: 'pending', step: 1 } } },
  ])
})

it('the service does not find a delivery of another project', async () => {
  const { send, hook, deliveries, service, clock } = await scene(echo)
  await hook()
  await send()
  await clock.advance(0)
  const [{ delivery } = {} as never] = await deliveries()
  const other = await service.projects.create({ name: 'other' })
  expect(
    (await refusalOf(service.deliveries.get({ projectId: other.id, deliveryId: delivery.id })))
      .kind,
  ).toBe('delivery_not_found')
})
