import { createService, type SubscribableEvent } from '@org/agent-messaging-core'
import { failure, defaultLimits, type Outcome } from '@org/agent-messaging-core/runtime'
import { defaultWebhookHealthPolicy } from '@org/agent-messaging-core/host'
import { describe, expect, it } from 'vitest'
import { adoptMasterKey } from '../src/maintenance/master-key.js'
import { accepted, fakeCrypto, refused, unreachable, refusalOf } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const SECOND = 1_000
const MINUTE = 60 * SECOND
/** The circuit alone decides when a webhook is tried. */
const retry = {
  delaysMs: Array.from({ length: 100 }, () => SECOND),
  jitter: 0,
  maxRetryAfterMs: 86_400_000,
}

/** The circuit opens at the fifth failure in a row. */
const webhookHealth = { ...defaultWebhookHealthPolicy, openFailures: 5, openAfterMs: 0 }

/** A webhook whose receiver comes to `outcome` until told otherwise. */
async function failingWebhook(outcome: Outcome, policy = {}) {
  const fakes = await scene({ ...echo, policy: { retry, webhookHealth, ...policy } })
  const { webhook } = await fakes.hook()
  const which = { projectId: fakes.project.id, webhookId: webhook.id }
  let comesTo: Outcome | undefined = outcome
  const { send } = fakes.sender
  Object.assign(fakes.sender, {
    send: async (request: Parameters<typeof send>[0]) => {
      const usual = await send(request)
      return request.url === webhook.url && comesTo ? comesTo : usual
    },
  })
  return {
    ...fakes,
    which,
    heal: () => (comesTo = undefined),
    shown: async () => await fakes.service.webhooks.get(which),
    requests: () => fakes.sender.requests.filter(({ url }) => url === webhook.url).length,
    other: async (events: SubscribableEvent[] = ['webhook.disabled']) =>
      await fakes.service.webhooks.create({
        projectId: fakes.project.id,
        url: 'https://other.example',
        events,
      }),
  }
}

describe('a receiver that fails', () => {
  it('is left alone in time although the clock jumps back', async () => {
    const health = { ...webhookHealth, openAfterMs: 10 * SECOND }
    const { send, clock, shown } = await failingWebhook(unreachable(), { webhookHealth: health })
    await send()
    await clock.advance(3 * SECOND)
    clock.set(clock.now() - 60 * MINUTE)
    await clock.advance(15 * SECOND)
    expect((await shown()).health.circuit.kind).toBe('open')
  })

  it('is left alone from the fifth failure in a row, then probed at longer and longer intervals', async () => {
    const { send, clock, requests, shown, telemetry } = await failingWebhook(unreachable())
    await send()
    await clock.advance(4 * SECOND)
    expect(requests()).toBe(5)
    expect(await shown()).toMatchObject({
      health: { consecutiveFailures: 5, circuit: { kind: 'open', trips: 1 } },
    })
    const times = []
    for (let n = requests(); n < 9; n++) {
      const from = clock.now()
      await clock.until(() => requests() > n, { stepMs: 500, maxMs: 10 * MINUTE })
      times.push(Math.round((clock.now() - from) / (5 * SECOND)))
    }
    expect(times).toEqual([1, 2, 4, 8])
    expect(telemetry.named('webhook.circuit').map(({ circuit }) => circuit)).toEqual(
      Array.from({ length: 5 }, () => 'open'),
    )
  })
  it('every other time, with many at once, is not left alone: no two failures are in a row', async () => {
    const { send, clock, requests, heal, shown, sender } = await failingWebhook(accepted())
    heal()
    let n = 0
    const { send: request } = sender
    Object.assign(sender, {
      send: async (one: Parameters<typeof request>[0]) =>
        ++n % 2 === 0 ? refused(500) : request(one),
    })
    await send('first')
    await Promise.all(Array.from({ length: 16 }, (_, nth) => send('x', { sessionId: String(nth) })))
    await clock.advance(0)
    expect(requests()).toBeGreaterThan(5)
    expect((await shown()).health.circuit).toEqual({ kind: 'closed' })
  })
  it('gets one probe of a backlog, and all of it once that is accepted', async () => {
    const { send, clock, requests, heal, shown, telemetry } = await failingWebhook(
      unreachable('timeout'),
    )
    for (let n = 0; n < 30; n++) await send(String(n))
    await clock.advance(0)
    const before = requests()
    expect(before).toBe(5)
    await clock.advance(5_500)
    expect(requests()).toBe(before + 1)
    heal()
    await clock.advance(11 * SECOND)
    expect(requests()).toBe(before + 1 + 30)
    expect((await shown()).health).toMatchObject({
      consecutiveFailures: 0,
      circuit: { kind: 'closed' },
    })
    expect(telemetry.named('webhook.circuit').at(-1)).toMatchObject({ circuit: 'closed' })
  })
  it('that asks for time gets it, and its neighbours none', async () => {
    const { send, clock, requests, other, sender } = await failingWebhook(
      refused(429, 120 * SECOND),
    )
    await other(['message.responded'])
    for (let n = 0; n < 20; n++) await send(String(n))
    await clock.advance(119 * SECOND)
    expect(requests()).toBe(1)
    expect(sender.requests).toHaveLength(21)
    await clock.advance(2 * SECOND)
    expect(requests()).toBe(2)
  })
  it('can be asked again at once for a delivery that waited when its circuit opened', async () => {
    const { send, clock, sender, requests, deliveries, service, which } = await failingWebhook(
      refused(429, 86_400_000),
    )
    sender.hold()
    for (let n = 0; n < 9; n++) await send(String(n))
    sender.release()
    await clock.advance(0)
    const { delivery } = (await deliveries()).at(-1) ?? {}
    expect(delivery?.state).toMatchObject({ kind: 'pending', step: 0 })
    await service.deliveries.redeliver({
      projectId: which.projectId,
      deliveryId: delivery?.id ?? '',
    })
    await clock.advance(0)
    expect(requests()).toBe(8 + 1)
  })
  it('can be asked again for a delivery that no process could give up, once its lease has ended', async () => {
    const { send, clock, sender, requests, deliveries, service, which, storage } =
      await failingWebhook(refused(429, 86_400_000))
    storage.deliveries.release = () =>
      Promise.resolve(failure({ kind: 'unavailable', reason: 'away' }))
    sender.hold()
    for (let n = 0; n < 9; n++) await send(String(n))
    sender.release()
    await clock.advance(0)
    const { delivery } = (await deliveries()).at(-1) ?? {}
    const redeliver = () =>
      service.deliveries.redeliver({ projectId: which.projectId, deliveryId: delivery?.id ?? '' })
    expect((await refusalOf(redeliver())).kind).toBe('delivery_busy')
    await clock.advance(31 * SECOND)
    await redeliver()
    await clock.advance(0)
    expect(requests()).toBe(8 + 1)
  })
  it('gives up the deliveries that wait for it in this process when its circuit opens, and gets them when the circuit closes', async () => {
    const { send, clock, sender, requests, heal, deliveries } = await failingWebhook(refused(503))
    sender.hold()
    for (let n = 0; n < 14; n++) await send(String(n))
    expect(sender.held).toBe(8)
    sender.release()
    await clock.advance(0)
    expect(requests()).toBe(8)
    const waiting = (await deliveries()).filter(({ attempts }) => attempts.length === 0)
    expect(waiting.map(({ delivery }) => delivery.state)).toEqual(
      Array.from({ length: 6 }, () => ({ kind: 'pending', nextAttemptAt: clock.now(), step: 0 })),
    )
    heal()
    await clock.advance(5 * SECOND)
    expect(requests()).toBe(8 + 14)
  })
  it('is not held to account for a secret that we cannot decrypt', async () => {
    const fakes = await scene({ ...echo, policy: { retry } })
    const { webhook } = await fakes.hook()
    await fakes.service.stop()
    const stranger = createService({
      ...fakes,
      storage: fakes.storage.reopen(),
      crypto: fakeCrypto('another key'),
      policy: { retry },
    })
    await adoptMasterKey(fakes.storage, fakeCrypto('another key'))
    await stranger.start()
    await stranger.messages.send({ ...fakes.ref, sessionId: 's', message: 'hi' })
    await fakes.clock.advance(10 * SECOND)
    const { health } = await stranger.webhooks.get({
      projectId: fakes.project.id,
      webhookId: webhook.id,
    })
    expect(health).toEqual({ consecutiveFailures: 0, circuit: { kind: 'closed' } })
  })
})

describe('a circuit', () => {
  const reports = ['webhook.failing', 'webhook.recovered'] as const

  it('that opens and closes is told once each to the other webhooks, and to the log', async () => {
    const { send, clock, service, which, shown, other, sender, heal } = await failingWebhook(
      refused(500),
    )
    await service.webhooks.update({ ...which, change: { events: ['*'] } })
    await other([...reports])
    for (let n = 0; n < 12; n++) await send(String(n))
    await clock.advance(MINUTE)
    heal()
    await clock.advance(5 * MINUTE)
    expect((await shown()).health.circuit.kind).toBe('closed')
    const told = sender.requests.flatMap(({ url, body }) =>
      url === 'https://other.example' ? [JSON.parse(body)] : [],
    )
    const failingSince = '2030-01-01T00:00:00.000Z'
    expect(told).toMatchObject([
      {
        event: 'webhook.failing',
        data: {
          webhookId: which.webhookId,
          consecutiveFailures: 5,
          failingSince,
          circuitOpenUntil: expect.stringContaining('2030-01-01T00:00:0'),
          lastAttempt: { outcome: 'refused', statusCode: 500 },
        },
      },
      {
        event: 'webhook.recovered',
        data: {
          webhookId: which.webhookId,
          failingSince,
          recoveredAt: expect.stringContaining('2030-01-01T00:01'),
        },
      },
    ])
    const { data } = await service.events.read({ projectId: which.projectId, limit: 100 })
    expect(data.filter(({ name }) => reports.some((one) => one === name))).toHaveLength(2)
    expect(sender.requests.filter(({ body }) => body.includes('webhook.'))).toHaveLength(2)
  })

  it('of a receiver for two processes is told once each', async () => {
    const { send, clock, other, another, requests, sender, heal } =
      await failingWebhook(unreachable())
    await other([...reports])
    const second = another()
    await second.start()
    sender.hold()
    for (let n = 0; n < 20; n++) await send(String(n))
    await clock.advance(2 * SECOND)
    expect(sender.held).toBeGreaterThan(5)
    sender.release()
    await clock.advance(MINUTE)
    expect(requests()).toBeGreaterThan(5)
    heal()
    await clock.advance(5 * MINUTE)
    const told = sender.requests.flatMap(({ url, body }) =>
      url === 'https://other.example' ? [JSON.parse(body).event as string] : [],
    )
    expect(told).toEqual(reports)
    await second.stop({ graceMs: 0 })
  })

  it('that opens by a failed report makes no event, so that webhooks do not report each other without end', async () => {
    const { send, clock, service, which, sender } = await failingWebhook(unreachable())
    Object.assign(sender, { send: async () => unreachable() })
    for (const name of ['a', 'b'])
      await service.webhooks.create({
        projectId: which.projectId,
        url: `https://${name}.example`,
        events: [...reports],
      })
    await send()
    await clock.advance(60 * MINUTE)
    const { data: webhooks } = await service.webhooks.list({
      projectId: which.projectId,
      limit: 10,
    })
    expect(webhooks.map(({ health }) => health.circuit.kind)).toEqual(['open', 'open', 'open'])
    const { data } = await service.events.read({ projectId: which.projectId, limit: 100 })
    expect(data.map(({ name }) => name)).toEqual([
      'agent.started',
      'message.responded',
      'webhook.failing',
    ])
  })
})

describe('a webhook that is disabled by its failures', () => {
  const disabling = { ...webhookHealth, disableAfterMs: 10 * MINUTE, longestOpenMs: 20 * SECOND }

  it('says why, is sent nothing more, and tells the other webhooks once', async () => {
    const { send, clock, requests, shown, other, sender, telemetry } = await failingWebhook(
      refused(500),
      { webhookHealth: disabling },
    )
    await other()
    for (let n = 0; n < 12; n++) await send(String(n))
    await clock.advance(9 * MINUTE)
    expect((await shown()).status.kind).toBe('enabled')
    await clock.advance(2 * MINUTE)
    const { status, health, id } = await shown()
    expect(status).toMatchObject({ kind: 'disabled', reason: 'failing' })
    const told = sender.requests.filter(({ url }) => url === 'https://other.example')
    expect(told).toHaveLength(1)
    expect(JSON.parse(told[0]?.body ?? '')).toMatchObject({
      event: 'webhook.disabled',
      data: {
        ...{ webhookId: id, reason: 'failing', failingSince: '2030-01-01T00:00:00.000Z' },
        ...{
          consecutiveFailures: health.consecutiveFailures,
          disabledAt: expect.stringContaining('2030-01-01T00:1'),
        },
      },
    })
    expect(telemetry.named('webhook.disabled')).toMatchObject([
      { webhookId: id, reason: 'failing' },
    ])
    const before = requests()
    await send('more')
    await clock.advance(60 * MINUTE)
    expect(requests()).toBe(before)
  })
  it('is disabled at once by a 410 where the webhook asks for that, and enabling sends the kept deliveries, one first', async () => {
    const { service, which, send, clock, requests, shown, sender, heal, deliveries } =
      await failingWebhook(refused(410))
    await service.webhooks.update({ ...which, change: { disableOnGone: true } })
    await send()
    await clock.advance(0)
    expect(await shown()).toMatchObject({
      status: { kind: 'disabled', reason: 'gone' },
      health: { consecutiveFailures: 1 },
    })
    for (let n = 0; n < 20; n++) await send(String(n))
    await clock.advance(MINUTE)
    expect(requests()).toBe(1)

    heal()
    sender.hold()
    const enabled = await service.webhooks.enable(which)
    expect(enabled).toMatchObject({
      status: { kind: 'enabled' },
      health: { consecutiveFailures: 0 },
    })
    expect(enabled.health).not.toHaveProperty('failingSince')
    await clock.advance(SECOND)
    expect(sender.held).toBe(1)
    sender.release()
    await clock.advance(0)
    expect(requests()).toBe(1 + 21)
    await clock.advance(40) // until all attempts are stored
    const states = (await deliveries()).map(({ delivery }) => delivery.state.kind)
    expect(new Set(states)).toEqual(new Set(['delivered']))
  })
  it('keeps its reason when an operator disables it too', async () => {
    const { service, which, send, clock } = await failingWebhook(refused(410))
    await service.webhooks.update({ ...which, change: { disableOnGone: true } })
    await send()
    await clock.advance(0)
    expect((await service.webhooks.disable(which)).status).toMatchObject({
      reason: 'gone',
    })
    await service.webhooks.enable(which)
    expect((await service.webhooks.disable(which)).status).toMatchObject({
      reason: 'operator',
    })
  })
  it('is enabled and disabled only where it is', async () => {
    const { service, which } = await failingWebhook(accepted())
    const nowhere = { ...which, webhookId: which.projectId }
    expect((await refusalOf(service.webhooks.enable(nowhere))).kind).toBe('webhook_not_found')
    expect((await refusalOf(service.webhooks.disable(nowhere))).kind).toBe('webhook_not_found')
    expect((await service.webhooks.enable(which)).health.circuit.kind).toBe('closed')
  })
})

describe('an operator who wants a try now', () => {
  it.each(['redeliver', 'recover', 'sendTestEvent'] as const)(
    'gets one by %s, though the circuit is open',
    async (action) => {
      const { service, send, clock, requests, which, deliveries, shown, heal } =
        await failingWebhook(refused(503, 60 * MINUTE))
      await send()
      await clock.advance(MINUTE)
      expect(requests()).toBe(1)
      heal()
      const deliveryId = (await deliveries())[0]?.delivery.id ?? ''
      if (action === 'redeliver')
        await service.deliveries.redeliver({ projectId: which.projectId, deliveryId })
      if (action === 'recover')
        await service.recoveries.start({
          projectId: which.projectId,
          filter: { webhookId: which.webhookId, status: 'pending' },
        })
      if (action === 'sendTestEvent') await service.webhooks.sendTestEvent(which)
      await clock.advance(0)
      expect(requests()).toBe(2)
      expect((await shown()).health.circuit.kind).toBe('closed')
    },
  )
  it('sends a test event as the probe, before older deliveries', async () => {
    const { service, send, clock, sender, which, shown } = await failingWebhook(
      refused(503, 60 * MINUTE),
    )
    for (let n = 0; n < 3; n++) await send(String(n))
    await clock.advance(MINUTE)
    const before = sender.requests.length
    const { id: deliveryId } = await service.webhooks.sendTestEvent(which)
    await clock.advance(0)
    expect(sender.requests.slice(before).map(({ body }) => JSON.parse(body).event)).toEqual([
      'webhook.test',
    ])
    const { attempts } = await service.deliveries.get({ projectId: which.projectId, deliveryId })
    expect(attempts).toMatchObject([{ outcome: { kind: 'refused', statusCode: 503 } }])
    expect((await shown()).health.circuit).toMatchObject({ kind: 'open', trips: 1 })
  })
  it('gets one by a change to another URL, whose receiver has not asked to be left alone', async () => {
    const { service, send, clock, sender, which, shown } = await failingWebhook(
      refused(503, 60 * MINUTE),
    )
    await send()
    await send('what waits behind the open circuit')
    await clock.advance(MINUTE)
    await service.webhooks.update({ ...which, change: { url: 'https://moved.example/hook' } })
    await clock.advance(0)
    expect(sender.requests.filter(({ url }) => url === 'https://moved.example/hook')).toHaveLength(
      1,
    )
    expect((await shown()).health.circuit.kind).toBe('closed')
  })
})

describe('a webhook that answers', () => {
  it('is looked at by the store now and then, not at each answer', async () => {
    const { send, clock, storage, shown } = await failingWebhook(accepted())
    let judged = 0
    const { recordAttempts } = storage.deliveries
    Object.assign(storage.deliveries, {
      recordAttempts: (records: Parameters<typeof recordAttempts>[0]) => {
        judged += records.filter(({ decideHealth }) => decideHealth).length
        return recordAttempts(records)
      },
    })
    for (let n = 0; n < 20; n++) {
      await send(String(n))
      await clock.advance(SECOND)
    }
    expect(judged).toBe(2)
    expect((await shown()).health.lastSuccessAt).toBeDefined()
  })
})

describe('fair shares', () => {
  const limits = { ...defaultLimits, webhooksPerProject: 1_000 }

  it('one project with 500 hanging webhooks does not delay the one webhook of another', async () => {
    const { service, send, sender, hook, clock } = await scene({ ...echo, policy: { limits } })
    for (let n = 0; n < 500; n++) await hook(`https://hangs.example/${n}`)
    const { id: projectId } = await service.projects.create({ name: 'small' })
    await service.agents.create({
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    const url = 'https://small.example'
    await service.webhooks.create({ projectId, url, events: ['message.responded'] })
    const { send: answer } = sender
    const begun: string[] = []
    Object.assign(sender, {
      send: (request: Parameters<typeof answer>[0]) => {
        begun.push(request.url)
        return request.url === url ? answer(request) : new Promise(() => undefined)
      },
    })
    for (let n = 0; n < 3; n++) await send(String(n))
    for (let n = 0; n < 5; n++) {
      await service.messages.send({ projectId, agent: 'bot', sessionId: `s${n}`, message: 'hi' })
      await clock.advance(SECOND)
      expect(begun.filter((one) => one === url)).toHaveLength(n + 1)
    }
    expect(begun.length - 5).toBe(48) // three quarters of 64
  })
  it('a storm of retries that hang does not delay a new event', async () => {
    const patient = { ...defaultWebhookHealthPolicy, openFailures: 1_000 }
    const { service, send, sender, hook, clock } = await scene({
      ...echo,
      policy: { limits, retry, webhookHealth: patient },
    })
    for (let n = 0; n < 90; n++) await hook(`https://storm.example/${n}`)
    const { send: answer } = sender
    let hangs = false
    Object.assign(sender, {
      send: (request: Parameters<typeof answer>[0]) => {
        if (request.url.includes('storm'))
          return hangs ? new Promise(() => undefined) : Promise.resolve(refused(500))
        return answer(request)
      },
    })
    await send()
    await clock.advance(0)
    hangs = true
    await clock.advance(2 * SECOND)
    const { id: projectId } = await service.projects.create({ name: 'calm' })
    await service.agents.create({
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    await service.webhooks.create({
      projectId,
      url: 'https://calm.example',
      events: ['message.responded'],
    })
    for (let n = 0; n < 5; n++)
      await service.messages.send({ projectId, agent: 'bot', sessionId: `s${n}`, message: 'hi' })
    await clock.advance(0)
    expect(sender.requests.filter(({ url }) => url === 'https://calm.example')).toHaveLength(5)
  })
  it('two services on one store probe a half-open webhook once', async () => {
    const { send, clock, requests, sender, another, which, service } =
      await failingWebhook(unreachable())
    for (let n = 0; n < 30; n++) await send(String(n))
    await clock.advance(0)
    const before = requests()
    sender.hold()
    const second = another()
    await second.start()
    await clock.advance(6 * SECOND)
    expect(sender.held).toBe(1)
    await service.webhooks.disable(which)
    await service.webhooks.enable(which)
    await clock.advance(SECOND)
    expect(requests()).toBe(before + 2) // The enabling asks for one more probe.
    await second.stop({ graceMs: 0 })
  })
})
